"""The disk under an embedded service is full for a while: it says so, and nothing is lost.

The disk is a small one of the test's own (`small_disk.py`). The embedded broker keeps nothing on disk.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from server.embedded.postgres import Postgres
from server.embedded.process import free_port
from server.embedded.valkey import Valkey
from tests.faults.arena import standing
from tests.faults.ground import assert_viewers_stayed, at_rate
from tests.faults.small_disk import SmallDisk, small_disk
from tests.services import ROOT
from tests.waiting import until

FULL = "No space left on device"
RATE = 500.0  # results a second


@pytest.fixture
def disk(place: Path) -> Iterator[SmallDisk]:
    """Room for a cluster of PostgreSQL with its programs, or for much of Redis."""
    with small_disk(place, 600) as found:
        yield found


@pytest.fixture
async def valkey(disk: SmallDisk) -> AsyncIterator[Valkey]:
    """Redis on the small disk."""
    server = Valkey(disk.path / "valkey", "test")
    await server.start()
    yield server
    server.kill()


@pytest.fixture
async def postgresql(disk: SmallDisk) -> AsyncIterator[Postgres]:
    """PostgreSQL on the small disk."""
    server = Postgres(disk.path / "postgres", durable=False)
    await server.start()
    yield server
    server.kill()


async def test_a_full_disk_under_redis_holds_results_up_and_loses_none(  # noqa: PLR0917  fixtures, by name
    place: Path, disk: SmallDisk, valkey: Valkey, database_url: str, kafka_bootstrap: str, topic: str
) -> None:
    async with standing(
        place,
        redis_url=valkey.address,
        database_url=database_url,
        kafka_bootstrap=kafka_bootstrap,
        topic=topic,
    ) as arena:
        await at_rate(arena, RATE)
        epochs = arena.watching.seats["s1"].epochs[:]
        disk.fill()
        await arena.ready("ingest").says("redis", FULL, within=20)
        await arena.ready("ingest").says("ingest", FULL, within=20)
        assert arena.ready("ingest").now.status == 503
        await arena.feeder.more(1000)  # Kafka takes them all the same
        disk.free()
        await arena.ready("ingest").ready()
        await arena.holds(within=120)
        assert_viewers_stayed(arena)
        assert arena.watching.seats["s1"].epochs == epochs
        assert arena.told("ingest", "redis_away", role="ingest") == 1
        assert await arena.role("ingest").metric("retries_total", part="ingest", reason="redis") > 0
        valkey.kill()
        await valkey.start()  # what it could not write is in its file by now
        arena.feeder.start()
        await arena.feeder.more(500)
        await arena.holds(within=120)
        assert await arena.role("keeper").metric("rebuilds_total", outcome="done") == 2


async def test_a_full_disk_under_postgresql_holds_persist_up_and_loses_nothing(  # noqa: PLR0917  fixtures, by name
    place: Path, disk: SmallDisk, postgresql: Postgres, own_valkey: Valkey, kafka_bootstrap: str, topic: str
) -> None:
    async with standing(
        place,
        redis_url=own_valkey.address,
        database_url=postgresql.address,
        kafka_bootstrap=kafka_bootstrap,
        topic=topic,
    ) as arena:
        await at_rate(arena, RATE)
        disk.fill()
        await arena.ready("persist").says("persist", FULL, within=30)
        assert arena.ready("persist").now.status == 503
        version = arena.watching.seats["s2"].version
        await arena.feeder.more(1000)
        await until(lambda: arena.watching.seats["s2"].version > version)  # boards do not wait for it
        disk.free()
        if not postgresql.running:  # where the log of its changes hit the end first, it went down
            await postgresql.start()
        await arena.ready("persist").ready()
        await arena.feeder.more(500)
        await arena.holds(within=120)
        assert_viewers_stayed(arena)
        assert arena.told("persist", "persist_waits", part="archive") > 0
        assert await arena.role("persist").metric("retries_total", part="persist", reason="archive") > 0


async def test_a_stack_on_a_full_disk_says_so_in_one_line(disk: SmallDisk) -> None:
    disk.fill()
    names = ("REDIS_URL", "DATABASE_URL", "KAFKA_BOOTSTRAP_SERVERS")
    outside = {name: value for name, value in os.environ.items() if name not in names}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server", "serve"),
        cwd=ROOT,
        env=outside | {"RANKCAST_DATA_DIR": str(disk.path / "data"), "RANKCAST_PORT": str(free_port())},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(120):
        output, _ = await process.communicate()
    last = output.decode().strip().splitlines()[-1]
    assert process.returncode == 1, output.decode()
    assert FULL in last
    assert "RANKCAST_DATA_DIR" in last
    assert b"Traceback" not in output
