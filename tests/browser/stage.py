"""A whole Rankcast for the pages' tests, with as many boards as they want; its Redis is flushed by nobody."""

import contextlib
import itertools
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from server.archive.store import Archive
from server.core.season import Season
from server.embedded.valkey import Valkey
from server.metrics import Metrics
from server.settings import Settings
from tests import services
from tests.browser.pages import Shown
from tests.waiting import until
from tests.whole.running import API_KEY, Running, running

AUTH = {"Authorization": f"Bearer {API_KEY}"}
QUICK = {"RANKCAST_HEARTBEAT_MS": "1000", "RANKCAST_KEEPER_EVERY_S": "0.1"}


@dataclass
class Board:
    """One season's board: what game servers report to it, and what REST tells of it."""

    http: httpx.AsyncClient
    season: int

    @property
    def name(self) -> str:
        """As pages' addresses have it."""
        return f"s{self.season}"

    async def told(self, limit: int = 100) -> Shown:
        """What REST tells of the best: rank, id and points of each, and the position of it."""
        answer = await self.http.get(f"/seasons/{self.season}/leaderboard/top", params={"limit": limit})
        said = answer.raise_for_status().json()
        rows = [(entry["rank"], str(entry["playerId"]), entry["points"]) for entry in said["entries"]]
        return Shown(rows, f"{said['epoch']}-{said['version']}")

    async def report(self, points: Mapping[int, int]) -> None:
        """Report a match of each of these players; returns when the board has counted them."""
        results = [_result(player, won) for player, won in points.items()]
        answer = await self.http.post(f"/seasons/{self.season}/results", json=results, headers=AUTH)
        assert answer.status_code == 202, answer.text
        player, won = list(points.items())[-1]
        await until(lambda: self._has(player, won), within=20)

    async def _has(self, player: int, points: int) -> bool:
        answer = await self.http.get(f"/seasons/{self.season}/leaderboard/players/{player}")
        return answer.status_code == 200 and answer.json()["points"] >= points

    async def call(self, names: Mapping[int, str]) -> None:
        """Give players names, on all boards: of ids that no other test uses."""
        told = {str(player): name for player, name in names.items()}
        (await self.http.put("/players", json=told, headers=AUTH)).raise_for_status()


def _result(player: int, points: int) -> dict[str, Any]:
    at = "2026-02-01T12:00:00Z"
    return {"match_id": str(uuid.uuid4()), "player_id": str(player), "points": points, "achieved_at": at}


@dataclass
class Stage:
    """A running Rankcast and what makes boards on it."""

    rankcast: Running
    http: httpx.AsyncClient
    archive: Archive
    seasons: Iterator[int]

    def unmade(self) -> Board:
        """A board of a season that is not there yet."""
        return Board(self.http, next(self.seasons))

    async def board(self) -> Board:
        """A board of a season of its own, empty and served."""
        board = self.unmade()
        await self.make(board)
        return board

    async def make(self, board: Board) -> None:
        """Create the season of this board, and wait until the board is served."""
        definition = {
            "season_id": board.season,
            "name": "Autumn",
            "starts_at": "2026-01-01T00:00:00Z",
            "ends_at": "2100-01-01T00:00:00Z",
        }
        await self.archive.create_season(Season.parse(definition, time.time_ns() // 1_000))
        await until(lambda: self._serves(board), within=30)

    async def _serves(self, board: Board) -> bool:
        answer = await self.http.get(f"/seasons/{board.season}/leaderboard/top")
        return answer.status_code == 200 and answer.json()["epoch"] is not None


@contextlib.asynccontextmanager
async def stage_at(folder: Path, database_server: str, kafka_bootstrap: str) -> AsyncIterator[Stage]:
    """A Rankcast with a Redis and a database of its own."""
    valkey = Valkey(folder / "valkey", "test", durable=False)
    await valkey.start()
    database_url = await services.new_database(database_server)
    topic = await services.new_topic(kafka_bootstrap)
    serving = running(folder, valkey.address, database_url, kafka_bootstrap, topic, **QUICK)
    async with serving as rankcast, httpx.AsyncClient(base_url=rankcast.url) as http:
        archive = await Archive.connect(database_url, Settings(), Metrics())
        yield Stage(rankcast, http, archive, itertools.count(100))
        await archive.close()
    await valkey.stop()
    await services.drop_database(database_server, database_url)
