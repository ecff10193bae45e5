"""The client in a Node process of its own (`tests/js/follow.js`), and what it has handed over so far."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator
from typing import Any

from tests.services import ROOT

JS = ROOT / "tests" / "js"


class Follower:
    """What the client has told; the newest of each kind, and all rank-ups."""

    def __init__(self) -> None:
        self.newest: dict[str, Any] = {}
        self.states: list[dict[str, Any]] = []
        self.rankups: list[dict[str, Any]] = []
        self.refusals: list[dict[str, Any]] = []

    def take(self, told: dict[str, Any]) -> None:
        """Note one line of what the process prints."""
        kind = told.pop("kind")
        self.newest[kind] = told
        lists = {"state": self.states, "rankup": self.rankups, "refusal": self.refusals}
        if kind in lists:
            lists[kind].append(told)

    @property
    def state(self) -> str:
        """The state that a page would show now."""
        return str(self.newest["state"]["name"]) if "state" in self.newest else ""

    @property
    def transport(self) -> str | None:
        """What the line is made of."""
        return self.newest["state"]["transport"] if "state" in self.newest else None

    @property
    def own(self) -> str | None:
        """The player in the middle of the around-me view; none while it is unranked."""
        own = self.newest["around"]["own"] if "around" in self.newest else None
        return own and str(own["player"])

    def rows(self, kind: str = "top") -> list[tuple[str, int, int]]:
        """The rows shown last: player, points, achievedAt."""
        rows = self.newest[kind]["rows"] if kind in self.newest else []
        return [(row["player"], row["points"], row["achievedAt"]) for row in rows]


@contextlib.asynccontextmanager
async def following(
    node: str, url: str, board: str, player: str, **variables: str
) -> AsyncIterator[Follower]:
    """Follow the board while the block runs; the process has to end by itself after it."""
    process = await asyncio.create_subprocess_exec(
        *(node, "follow.js", url, board, player),
        cwd=JS,
        env=os.environ | variables,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**22,
    )
    follower = Follower()

    async def read() -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            follower.take(json.loads(line))

    reading = asyncio.create_task(read())
    try:
        yield follower
        assert process.stdin is not None
        process.stdin.close()
        assert await asyncio.wait_for(process.wait(), 30) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await reading
