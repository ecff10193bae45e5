"""Real services and real Rankcast processes for a benchmark, started for it and stopped after it.

Owns their life, and the CPU time that each of them has used. Neighbours: `ingest.py` and `latency.py`.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import psutil

from server.archive.store import Archive
from server.board.connection import connect
from server.board.store import BoardStore
from server.core.season import Season
from server.embedded.postgres import Postgres
from server.embedded.process import Service, free_port
from server.embedded.tansu import Tansu
from server.embedded.valkey import Valkey
from server.metrics import Metrics
from server.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
READY_SECONDS = 60.0
ROLES = "web,ingest,persist,keeper"


@dataclass(frozen=True)
class Stack:
    """The three services, as durable as in production; `settings` name them."""

    settings: Settings
    folder: Path
    services: tuple[Service, ...]

    async def create_board(self, season: Season) -> None:
        """Make the season, and wait until a keeper has made its board."""
        settings = self.settings
        archive = await Archive.connect(settings.database_url or "", settings, Metrics())
        try:
            await archive.create_season(season)
        finally:
            await archive.close()
        async with connect(settings.redis_url or "") as redis:
            boards = BoardStore(redis, settings, Metrics())
            while await boards.position(season.season_id) is None:  # noqa: ASYNC110  another process makes it
                await asyncio.sleep(0.05)

    async def age_board(self, season: Season) -> None:
        """Make the board one that was made longer than a marker's life ago.

        Until then its results are asked about in PostgreSQL, which an ordinary board's are not.
        """
        async with connect(self.settings.redis_url or "") as redis:
            await redis.hset(f"lb:{{{season.board}}}:meta", "asking", "0")


@asynccontextmanager
async def services() -> AsyncIterator[Stack]:
    """PostgreSQL, Valkey and a Kafka-protocol broker, with empty data, while the block runs."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rankcast-bench-")))
        os.chmod(folder, 0o711)  # noqa: PTH101  PostgreSQL may run as another account
        postgres, valkey = Postgres(folder / "postgres"), Valkey(folder / "valkey", "bench")
        kafka = Tansu(folder / "kafka")
        for service in (postgres, valkey, kafka):
            stack.push_async_callback(service.stop)
            await service.start()
        settings = Settings(
            redis_url=valkey.address,
            database_url=postgres.address,
            kafka_bootstrap=kafka.address,
            data_dir=folder / "data",
            demo=False,
            consumer_groups=False,  # each role is one process here, and joining takes the broker seconds
            log_level="warning",
        )
        yield Stack(settings, folder, (postgres, valkey, kafka))


@dataclass(frozen=True)
class Rankcast:
    """One running process of Rankcast."""

    url: str
    pid: int


@asynccontextmanager
async def rankcast(stack: Stack, roles: str = ROLES, **variables: str) -> AsyncIterator[Rankcast]:
    """`rankcast serve` in a process of its own, ready, while the block runs."""
    settings, port = stack.settings, free_port()
    environment = os.environ | {
        "REDIS_URL": settings.redis_url or "",
        "DATABASE_URL": settings.database_url or "",
        "KAFKA_BOOTSTRAP_SERVERS": settings.kafka_bootstrap or "",
        "RANKCAST_DATA_DIR": str(settings.data_dir),
        "RANKCAST_PORT": str(port),
        "RANKCAST_DEMO": "false",
        "RANKCAST_CONSUMER_GROUPS": "false",
        "RANKCAST_FETCH_WAIT_MS": "20",  # as `serve` has it with a broker of its own
        "RANKCAST_LOG_LEVEL": "warning",
        **variables,
    }
    log = stack.folder / f"rankcast-{port}.log"
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "server", "serve", "--roles", roles),
            cwd=ROOT,
            env=environment,
            stdout=out,
            stderr=out,
            start_new_session=True,  # the kernel may share cores out by session: none shares ours
        )
    try:
        found = Rankcast(f"http://127.0.0.1:{port}", process.pid)
        await _ready(found, process, log)
        yield found
    finally:
        if process.returncode is None:
            process.terminate()
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), 30)
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _ready(found: Rankcast, process: asyncio.subprocess.Process, log: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    words = partial(asyncio.to_thread, log.read_text)
    async with httpx.AsyncClient() as client:
        while True:
            if process.returncode is not None:
                raise RuntimeError(f"it ended while starting: {(await words())[-2000:]}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"it is not ready after {READY_SECONDS:g} s: {(await words())[-2000:]}")
            with suppress(httpx.TransportError):
                if (await client.get(f"{found.url}/readyz")).status_code == 200:
                    return
            await asyncio.sleep(0.1)


class CpuTimes:
    """CPU seconds of named processes, with all below them, since this was made."""

    def __init__(self, processes: Iterable[tuple[str, int]]) -> None:
        self._processes = list(processes)
        self._before = self._now()

    def used(self) -> dict[str, float]:
        """Seconds by name."""
        now = self._now()
        return {name: now[name] - self._before[name] for name in now}

    def _now(self) -> dict[str, float]:
        return {name: _cpu_seconds(pid) for name, pid in self._processes}


def of_services(stack: Stack) -> list[tuple[str, int]]:
    """Names and process ids of the services, as `CpuTimes` takes them."""
    return [(service.name, service.pid) for service in stack.services]


def _cpu_seconds(pid: int) -> float:
    """What the process and its children used; children that have ended are in their parent's account."""
    total = 0.0
    process = psutil.Process(pid)
    times = process.cpu_times()
    total += times.user + times.system + times.children_user + times.children_system
    for child in process.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = child.cpu_times()
            total += times.user + times.system
    return total


async def reached(what: Callable[[], "asyncio.Future[bool]"], within: float, every: float = 0.01) -> float:
    """Return the monotonic time at which `what` came true."""
    deadline = time.monotonic() + within
    while not await what():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not there after {within:g} s")
        await asyncio.sleep(every)
    return time.monotonic()
