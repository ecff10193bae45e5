"""The process that gets random inputs, with two seasons, and how it is looked at.

A tenth of the inputs come first: what the process remembers, it has by then, and the rest must not make it
grow.
"""

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import httpx
from prometheus_client.parser import text_string_to_metric_families
from redis.asyncio import Redis

from server.archive.store import Archive
from server.core.season import Season
from server.embedded.postgres import Postgres
from server.embedded.tansu import Tansu
from server.embedded.valkey import Valkey
from server.metrics import Metrics
from server.settings import Settings
from tests.services import drop_database, new_database, new_topic
from tests.waiting import until
from tests.whole.running import Running, running
from tests.wild.drawn import SEED
from tests.wild.records import BEST, SUM

GROWTH = 24 * 2**20

T = TypeVar("T")


@dataclass
class Wild:
    """A process of all roles in a season of each operator, in a Redis and a database of their own."""

    process: Running
    settings: Settings
    seasons: dict[int, Season]

    @property
    def port(self) -> int:
        return int(self.process.url.rsplit(":", 1)[1])

    async def samples(self) -> dict[tuple[str, tuple[str, ...]], float]:
        """What the process measures: (name, label values in the order of their names) → value."""
        async with httpx.AsyncClient() as http:
            text = (await http.get(f"{self.process.url}/metrics", timeout=30)).text
        return {
            (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    async def memory(self) -> int:
        """Resident bytes of the process."""
        return int((await self.samples())["process_resident_memory_bytes", ()])

    async def feed(self, inputs: Sequence[T], send: Callable[[Sequence[T]], Awaitable[None]]) -> None:
        """Send a tenth, then the rest: the process is as before and has not grown."""
        early = len(inputs) // 10
        await send(inputs[:early])
        before = await self.memory()
        await send(inputs[early:])
        grown = await self.memory() - before
        self.check_log()
        await until(self._is_ready)
        assert grown < GROWTH, f"{grown / 2**20:.1f} MiB more after {len(inputs)} inputs of seed {SEED}"

    async def _is_ready(self) -> bool:
        async with httpx.AsyncClient(base_url=self.process.url) as http:
            return (await http.get("/readyz", timeout=30)).status_code == 200

    def check_log(self) -> None:
        """No traceback, and nothing that went wrong on the server's side."""
        told = self.process.log.read_text()
        assert "Traceback" not in told, f"seed {SEED}:\n{told[told.index('Traceback') - 500 :][:5000]}"
        for line in told.splitlines():
            assert not any(level in line for level in ("[error", "[critical")), f"seed {SEED}: {line}"


@asynccontextmanager
async def wild_process(folder: Path, valkey: Valkey, postgres: Postgres, kafka: Tansu) -> AsyncIterator[Wild]:
    """A process with two seasons that run, by `best` and by `sum`, in empty services."""
    async with Redis.from_url(valkey.address) as redis:
        await redis.flushall()
    database_url = await new_database(postgres.address)
    settings = Settings(
        redis_url=valkey.address,
        database_url=database_url,
        kafka_bootstrap=kafka.address,
        topic=await new_topic(kafka.address),
    )
    seasons = {number: _season(number, operator) for number, operator in ((BEST, "best"), (SUM, "sum"))}
    await _create(settings, *seasons.values())
    options = {"RANKCAST_CONSUMER_GROUPS": "false", "RANKCAST_MAX_BODY_BYTES": "10000"}
    places = (valkey.address, database_url, kafka.address, settings.topic)
    async with running(Path(tempfile.mkdtemp(dir=folder)), *places, **options) as process:
        yield Wild(process, settings, seasons)
    await drop_database(postgres.address, database_url)


async def _create(settings: Settings, *seasons: Season) -> None:
    archive = await Archive.connect(settings.database_url or "", settings, Metrics())
    await archive.migrate()
    for season in seasons:
        await archive.create_season(season)
    await archive.close()


def _season(number: int, operator: str) -> Season:
    return Season.parse(
        {
            "season_id": number,
            "name": "Wild",
            "starts_at": "2024-01-01T00:00:00Z",
            "ends_at": "2100-01-01T00:00:00Z",
            "operator": operator,
            "counts_from": "2024-01-01T00:00:00Z",
        },
        created_us=1_704_067_200_000_000,
    )
