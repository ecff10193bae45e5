"""A whole Rankcast in this process, on real services: what the tests of HTTP talk to."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest
import pytest_asyncio

from server.core.season import Season
from server.settings import Settings
from server.web.app import ROLES, create_app
from server.web.life import Life
from server.web.server import Server
from tests.waiting import until

KEY = "test-key"
SEASON_ID = 12


@dataclass(slots=True)
class Running:
    """A running process: its HTTP client (base address set), its server and its life."""

    http: httpx.AsyncClient
    server: Server
    life: Life
    serving: "asyncio.Task[None]"

    @property
    def auth(self) -> dict[str, str]:
        return {"authorization": f"Bearer {KEY}"}


@pytest.fixture
def settings(redis_url: str, database_url: str, kafka_bootstrap: str, topic: str) -> Settings:
    """Settings of a process on this test's own part of the services."""
    return Settings(
        redis_url=redis_url,
        database_url=database_url,
        kafka_bootstrap=kafka_bootstrap,
        topic=topic,
        group_prefix=topic,
        port=0,
        consumer_groups=False,  # no rebalances to wait for
        api_key=KEY,
        demo=False,
        max_limit=50,
        max_radius=5,
        max_body_bytes=10_000,
        max_results_per_post=20,
    )


@asynccontextmanager
async def running(settings: Settings, roles: frozenset[str] = frozenset(ROLES)) -> AsyncIterator[Running]:
    """Serve while the block runs, then stop in order."""
    life = Life()
    server = Server(create_app(settings, roles, life), settings, life)
    serving = asyncio.create_task(server.serve())
    listening = asyncio.create_task(server.listening.wait())
    await asyncio.wait((serving, listening), return_when=asyncio.FIRST_COMPLETED)
    listening.cancel()
    if serving.done():
        await serving
    async with httpx.AsyncClient(base_url=server.url) as http:
        yield Running(http, server, life, serving)
    server.stop()
    await asyncio.wait_for(serving, 30)


@pytest_asyncio.fixture
async def rankcast(settings: Settings) -> AsyncIterator[Running]:
    """A process with all roles and season 12, whose board is there and empty."""
    async with running(settings) as process:
        await make_season(process)
        yield process


def season_definition(season_id: int = SEASON_ID) -> dict[str, object]:
    """A season of points and seconds that runs now."""
    return {
        "season_id": season_id,
        "name": "Autumn",
        "starts_at": "2020-01-01T00:00:00Z",
        "ends_at": "2100-01-01T00:00:00Z",
    }


async def make_season(process: Running, season_id: int = SEASON_ID) -> None:
    """Create the season and wait until its board is served."""
    season = Season.parse(season_definition(season_id), time.time_ns() // 1_000)
    state = process.server.lifespan.state
    await state["web"].archive.create_season(season)

    async def served() -> bool:
        answer = await process.http.get(f"/seasons/{season_id}/leaderboard/top")
        return answer.status_code == 200 and answer.json()["epoch"] is not None

    await until(served, within=30)


async def submit(process: Running, rows: dict[int, int], season_id: int = SEASON_ID) -> None:
    """Post {player: points} and wait until the board has as many players."""
    results = [
        {
            "match_id": f"00000000-0000-4000-8000-{points:012d}",
            "player_id": str(player),
            "points": points,
            "achieved_at": f"2024-05-01T00:00:{at:02d}Z",
        }
        for at, (player, points) in enumerate(rows.items())
    ]
    answer = await process.http.post(f"/seasons/{season_id}/results", json=results, headers=process.auth)
    assert answer.status_code == 202, answer.text

    async def there() -> bool:
        top = (await process.http.get(f"/seasons/{season_id}/leaderboard/top")).json()
        return bool(top["total"] >= len(rows))

    await until(there, within=20)
