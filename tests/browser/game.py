"""A running season for the client's tests: its server, its game servers, and the board that REST tells."""

import contextlib
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import httpx

from tests.browser.following import Follower
from tests.whole.running import API_KEY, Running

SEASON: dict[str, Any] = {
    "season_id": 12,
    "name": "Wires",
    "starts_at": "2026-01-01T00:00:00Z",
    "ends_at": "2030-01-01T00:00:00Z",
    "counts_from": "2020-01-01T00:00:00Z",
    "operator": "best",
}
EDGE_IDS = (2**63 - 1, -(2**63), 2**53 + 1, 2**53 + 2, -1, 0)
PLAYER = str(2**53 + 1)


async def make_season(rankcast: Running, place: Path) -> None:
    """Make the season, as an operator does."""
    file = place / "season.json"
    file.write_text(json.dumps(SEASON))
    await rankcast.command("season", "create", str(file))


class Game:
    """Match results that are reported, and the board that REST tells."""

    def __init__(self, http: httpx.AsyncClient, token: str | None) -> None:
        self._random = Random(12)
        self._http = http
        self._reading = {"Authorization": f"Bearer {token}"} if token else {}

    async def play(self, count: int, players: int = 300) -> None:
        """Report results of as many matches; waits until the board has counted the last of them."""
        ids = [*EDGE_IDS, *range(1, players)]
        chosen = [self._random.choice(ids) for _ in range(count)]
        chosen[0] = int(PLAYER)  # the one whom viewers follow is always among them
        results = [self._result(player) for player in chosen]
        answer = await self._http.post(
            "/seasons/12/results", json=results, headers={"Authorization": f"Bearer {API_KEY}"}
        )
        assert answer.status_code == 202, answer.text

    def _result(self, player: int) -> dict[str, Any]:
        points, day = self._random.randrange(2_000_000), self._random.randrange(1, 28)
        at = f"2026-02-{day:02}T12:00:00Z"
        return {"match_id": str(uuid.uuid4()), "player_id": str(player), "points": points, "achieved_at": at}

    async def top(self) -> list[tuple[str, int, int]]:
        """The rows that REST tells: player, points, achievedAt."""
        answer = await self._http.get(
            "/seasons/12/leaderboard/top", params={"limit": 100}, headers=self._reading
        )
        told = answer.raise_for_status().json()
        return [(str(one["playerId"]), one["points"], one["achievedAt"]) for one in told["entries"]]

    async def shown_by(self, *followers: Follower) -> bool:
        """Whether these clients show, and call live, what REST tells."""
        rows = await self.top()
        return bool(rows) and all(one.state == "live" and one.rows() == rows for one in followers)


@contextlib.asynccontextmanager
async def game_at(url: str, token: str | None = None) -> AsyncIterator[Game]:
    """The game servers of one Rankcast; `token` is a viewer's, where reads need one."""
    async with httpx.AsyncClient(base_url=url) as http:
        yield Game(http, token)
