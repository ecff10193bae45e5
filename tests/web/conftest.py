"""A whole Rankcast on real services: what the tests of HTTP talk to.

`rankcast` is one process for all tests that leave it as it is, with a season for the test alone; `reader` has
a season that all share and nobody writes to; `running` starts a process for a test alone.
"""

import asyncio
import itertools
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
import pytest_asyncio

from server.core.season import Season
from server.embedded.postgres import Postgres
from server.embedded.tansu import Tansu
from server.embedded.valkey import Valkey
from server.settings import Settings
from server.web.app import ROLES, create_app
from server.web.life import Life
from server.web.server import Server
from tests import services
from tests.waiting import until

KEY = "test-key"
AUTH = {"authorization": f"Bearer {KEY}"}
EMPTY_SEASON = 100
T = TypeVar("T")


@dataclass(slots=True)
class Running:
    """A running process in its own event loop."""

    settings: Settings
    server: Server
    life: Life
    loop: asyncio.AbstractEventLoop
    serving: "asyncio.Task[None]"

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the process's loop."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    def client(self) -> httpx.AsyncClient:
        """A client whose addresses are this process's."""
        return httpx.AsyncClient(base_url=self.server.url)

    @property
    def archive(self) -> Any:
        return self.server.lifespan.state["web"].archive


@dataclass(slots=True)
class Api:
    """HTTP to a running process, and one season of it."""

    http: httpx.AsyncClient
    season: int
    settings: Settings

    @property
    def top(self) -> str:
        return f"/seasons/{self.season}/leaderboard/top"

    @property
    def players(self) -> str:
        return f"/seasons/{self.season}/leaderboard/players"

    @property
    def results(self) -> str:
        return f"/seasons/{self.season}/results"


def settings_for(redis_url: str, database_url: str, kafka_bootstrap: str, topic: str) -> Settings:
    """Settings with limits that a test can reach."""
    return Settings(
        redis_url=redis_url,
        database_url=database_url,
        kafka_bootstrap=kafka_bootstrap,
        topic=topic,
        group_prefix=topic,
        consumer_groups=False,  # no rebalances to wait for
        port=0,
        api_key=KEY,
        max_limit=100,
        max_radius=5,
        max_body_bytes=10_000,
        max_results_per_post=20,
        keeper_every_s=0.1,
    )


@pytest.fixture
def settings(redis_url: str, database_url: str, kafka_bootstrap: str, topic: str) -> Settings:
    """Settings of a process on this test's own part of the services."""
    return settings_for(redis_url, database_url, kafka_bootstrap, topic)


@asynccontextmanager
async def running(settings: Settings, roles: frozenset[str] = frozenset(ROLES)) -> AsyncIterator[Running]:
    """Serve while the block runs, then stop in order; raises what the process goes down of."""
    life = Life()
    server = Server(create_app(settings, roles, life), settings, life)
    serving = asyncio.create_task(server.serve())
    listening = asyncio.create_task(server.listening.wait())
    await asyncio.wait((serving, listening), return_when=asyncio.FIRST_COMPLETED)
    listening.cancel()
    if serving.done():
        await serving
    yield Running(settings, server, life, asyncio.get_running_loop(), serving)
    server.stop()
    await asyncio.wait_for(serving, 30)


@pytest.fixture(scope="session")
def shared(services_folder: Path, postgres: Postgres, kafka: Tansu) -> Iterator[Running]:
    """One process with all roles for the whole run, in a thread of its own; its Redis is never flushed."""
    valkey = Valkey(services_folder / "web-valkey", "test", durable=False)
    services.run(valkey.start())
    database_url = services.run(services.new_database(postgres.address))
    topic = services.run(services.new_topic(kafka.address))
    settings = settings_for(valkey.address, database_url, kafka.address, topic)
    started: list[Running] = []
    ready, end = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with running(settings) as process:
            started.append(process)
            ready.set()
            await end.wait()

    thread = threading.Thread(target=lambda: services.run(serve()))
    thread.start()
    ready.wait(60)
    yield started[0]
    started[0].loop.call_soon_threadsafe(end.set)
    thread.join()
    services.run(valkey.stop())
    services.run(services.drop_database(postgres.address, database_url))


@pytest.fixture(scope="session")
def season_ids() -> Iterator[int]:
    """Ids that no season of the shared process has."""
    return itertools.count(101)


@pytest_asyncio.fixture
async def reader(shared: Running) -> AsyncIterator[Api]:
    """The shared process, with a season that stays empty."""
    async with shared.client() as http:
        api = Api(http, EMPTY_SEASON, shared.settings)
        await make_season(shared, api)
        yield api


@pytest_asyncio.fixture
async def rankcast(shared: Running, season_ids: Iterator[int]) -> AsyncIterator[Api]:
    """The shared process, with a season of the test's own whose board is there and empty."""
    async with shared.client() as http:
        api = Api(http, next(season_ids), shared.settings)
        await make_season(shared, api)
        yield api


def definition(season_id: int) -> dict[str, object]:
    """A season of points and seconds that runs now."""
    return {
        "season_id": season_id,
        "name": "Autumn",
        "starts_at": "2020-01-01T00:00:00Z",
        "ends_at": "2100-01-01T00:00:00Z",
    }


async def make_season(process: Running, api: Api) -> None:
    """Create the season and wait until its board is served."""
    season = Season.parse(definition(api.season), time.time_ns() // 1_000)
    await process.call(process.archive.create_season(season))

    async def served() -> bool:
        answer = await api.http.get(api.top)
        return answer.status_code == 200 and answer.json()["epoch"] is not None

    await until(served, within=30)


def result(player: int = 42, points: int = 1518, second: int = 0) -> dict[str, object]:
    """One valid result without a season."""
    return {
        "match_id": f"00000000-0000-4000-8000-{points:012d}",
        "player_id": str(player),
        "points": points,
        "achieved_at": f"2024-05-01T00:00:{second:02d}Z",
    }


async def submit(api: Api, rows: dict[int, int]) -> None:
    """Post {player: points}, each a second after the last, and wait until the board has as many players."""
    results = [result(player, points, at) for at, (player, points) in enumerate(rows.items())]
    answer = await api.http.post(api.results, json=results, headers=AUTH)
    assert answer.status_code == 202, answer.text

    async def there() -> bool:
        return bool((await api.http.get(api.top)).json()["total"] >= len(rows))

    await until(there, within=20)
