"""A viewer of one top view who keeps it by diffs alone, as the protocol's law asks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
from websockets.asyncio.client import connect

from server.core.diff import Diff, Placed, apply
from server.core.rows import Row, checksum


class Viewer:
    """Rows at (epoch, version), put together from the frames of one topic; each `crc` is checked."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.names: dict[str, str] = {}
        self.epoch: str | None = None
        self.version = 0
        self.snapshots = 0
        self.diffs = 0

    def take(self, frame: dict[str, Any]) -> None:
        """Apply one server frame."""
        if frame["type"] == "snapshot":
            self._take_snapshot(frame)
        elif frame["type"] == "diff":
            self._take_diff(frame)
        if frame["type"] in ("snapshot", "diff"):
            self.names |= frame["names"]
            assert checksum(self.rows) == frame["crc"], f"crc does not hold at {frame}"

    def _take_snapshot(self, frame: dict[str, Any]) -> None:
        self.epoch, self.version = frame["epoch"], frame["version"]
        self.rows = [Row(int(player), points, at) for player, points, at in frame["rows"]]
        self.snapshots += 1

    def _take_diff(self, frame: dict[str, Any]) -> None:
        assert (frame["epoch"], frame["from"]) == (self.epoch, self.version), "a diff that does not follow"
        put = [Placed(rank, Row(int(player), points, at)) for player, points, at, rank in frame["set"]]
        self.rows = apply(self.rows, Diff([int(player) for player in frame["gone"]], put))
        self.version = frame["to"]
        self.diffs += 1


@asynccontextmanager
async def viewing(socket_url: str, board: str, limit: int) -> AsyncIterator[Viewer]:
    """Follow the top of a board while the block runs; a frame that breaks the law fails the block's end."""
    viewer = Viewer()
    subscribe = {"id": 1, "op": "subscribe", "board": board, "view": "top", "limit": limit}
    async with connect(socket_url, subprotocols=["rankcast.v1"], max_size=None) as socket:  # type: ignore[list-item]  # a NewType of str
        await socket.send(orjson.dumps(subscribe).decode())

        async def follow() -> None:
            async for message in socket:
                viewer.take(orjson.loads(message))

        following = asyncio.create_task(follow())
        yield viewer
        if following.done():
            following.result()
        following.cancel()
