"""PostgreSQL is killed, frozen, restarted, read-only, or refuses one result of a batch.

Ordinary boards move on meanwhile, nothing is lost, and readiness says what is the matter.
"""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from server.board.connection import connect
from server.board.store import BoardStore
from server.embedded.postgres import Postgres
from server.metrics import Metrics
from server.settings import Settings
from tests.faults.arena import SUM, Arena, standing
from tests.flow.boards import settle
from tests.waiting import until

pytestmark = pytest.mark.timeout(600)

FROZEN_SECONDS = 30.0


@pytest.fixture
async def arena(
    place: Path, redis_url: str, own_postgres: Postgres, kafka_bootstrap: str, topic: str
) -> AsyncIterator[Arena]:
    """All roles in one process on a PostgreSQL of the test's own.

    Its boards are as they are an hour after they were made: they ask PostgreSQL no more.
    """
    async with standing(
        place,
        redis_url=redis_url,
        database_url=own_postgres.address,
        kafka_bootstrap=kafka_bootstrap,
        topic=topic,
    ) as found:
        async with connect(redis_url) as redis:
            for season in found.seasons:
                await settle(redis, season)
        yield found


async def counted(arena: Arena, season_id: int = SUM) -> int:
    """How many results the board has counted."""
    async with connect(arena.redis_url) as redis:
        progress = await BoardStore(redis, Settings(), Metrics()).progress(season_id)
    return progress.counted if progress else 0


async def assert_boards_move(arena: Arena, results: int = 2000) -> None:
    """The board of sums counts on."""
    wanted = await counted(arena) + results

    async def moved() -> bool:
        return await counted(arena) >= wanted

    await until(moved, within=30, every=0.2)


async def assert_told(arena: Arena) -> None:
    """Persist and the metrics told of it, the viewers knew nothing of it."""
    arena.assert_viewers_stayed()
    assert arena.told("persist", "persist_waits", part="archive") > 0
    assert await arena.role("persist").metric("retries_total", part="persist", reason="archive") > 0
    assert set(arena.watching.seats["s1"].stales) <= {"building"}  # before its first result
    assert [len(seat.epochs) for seat in arena.watching.seats.values()] == [1, 1]


async def test_boards_move_on_while_postgresql_is_killed_and_started_again(
    arena: Arena, own_postgres: Postgres
) -> None:
    own_postgres.kill()
    await arena.ready("persist").says("postgres")
    await arena.ready("persist").says("persist", "PostgreSQL")
    assert arena.ready("persist").now.status == 503
    await assert_boards_move(arena)
    assert await arena.role("persist").metric("lag_records", role="persist") > 1000
    await own_postgres.start()
    await arena.ready("persist").ready()
    await own_postgres.restart()  # and once in order
    await arena.feeder.more(1000)
    await arena.holds()
    await assert_told(arena)


async def test_boards_move_on_while_postgresql_is_frozen_for_half_a_minute(
    arena: Arena, own_postgres: Postgres
) -> None:
    thaw_at = time.monotonic() + FROZEN_SECONDS
    own_postgres.pause()
    await arena.ready("persist").says("postgres", "no answer within 2 s")
    assert arena.ready("persist").now.status == 503
    await assert_boards_move(arena)
    await until(lambda: time.monotonic() > thaw_at, within=FROZEN_SECONDS)
    own_postgres.resume()
    await arena.ready("persist").ready()
    await arena.feeder.more(1000)
    await arena.holds()
    arena.assert_viewers_stayed()
    assert arena.told("persist", "part_not_ready", part="postgres") > 0


async def test_a_read_only_postgresql_is_waited_for(arena: Arena, own_postgres: Postgres) -> None:
    connection = await asyncpg.connect(own_postgres.address)
    await connection.execute("ALTER SYSTEM SET default_transaction_read_only = on")
    await connection.execute("SELECT pg_reload_conf()")
    await arena.ready("persist").says("persist", "read-only transaction")
    assert arena.ready("persist").now.status == 503
    await assert_boards_move(arena)
    await connection.execute("SET default_transaction_read_only = off")
    await connection.execute("ALTER SYSTEM RESET default_transaction_read_only")
    await connection.execute("SELECT pg_reload_conf()")
    await connection.close()
    await arena.ready("persist").ready()
    await arena.feeder.more(1000)
    await arena.holds()
    await assert_told(arena)


async def offsets(connection: "asyncpg.Connection[asyncpg.Record]") -> dict[int, int]:
    """Where persist stands, by partition."""
    rows = await connection.fetch("SELECT log_partition, next_offset FROM persist_offsets")
    return {row[0]: row[1] for row in rows}


async def test_one_result_that_a_constraint_refuses_holds_its_partition_loudly_and_no_other_c2(
    arena: Arena, own_postgres: Postgres
) -> None:
    connection = await asyncpg.connect(own_postgres.address)
    await connection.execute(
        "ALTER TABLE match_results ADD CONSTRAINT fair CHECK (points <> 1234567) NOT VALID"
    )
    bad = await arena.feeder.report(SUM, points=1_234_567)
    await arena.ready("persist").says("persist", 'violates check constraint "fair"', within=20)
    assert arena.ready("persist").now.status == 503
    assert await arena.role("persist").metric("stuck_partitions") == 1
    [told] = arena.role("persist").told("result_refused")
    assert (told["match_id"], told["player"], told["board"]) == (bad.match_id, bad.player_id, "s1")
    stands = await offsets(connection)
    assert stands[told["partition"]] == told["offset"]
    await assert_boards_move(arena)

    async def others_went_on() -> bool:
        now = await offsets(connection)
        return all(
            now[partition] == at if partition == told["partition"] else now[partition] > at + 100
            for partition, at in stands.items()
        )

    await until(others_went_on, within=20, every=0.2)
    await connection.execute("ALTER TABLE match_results DROP CONSTRAINT fair")
    await connection.close()
    await arena.logged("persist", "result_taken", partition=told["partition"], within=40)
    await arena.ready("persist").ready()
    await arena.holds()
    arena.assert_viewers_stayed()
    assert len(arena.role("persist").told("result_refused", level="error")) == 1
    assert await arena.role("persist").metric("retries_total", part="persist", reason="refused") > 0
    assert await arena.role("persist").metric("stuck_partitions") == 0
