"""PostgreSQL that is busy, away, frozen or behind a pooler: a clear error in time (C1, C3)."""

import asyncio

import asyncpg
import pytest

from server.archive.errors import ArchiveUnavailable, Fenced, StoreRefused
from server.archive.logs import Evidence
from server.archive.store import Archive
from server.embedded.postgres import Postgres
from server.errors import StartError
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.archives import append, board, match, new_log, result, season
from tests.flow.pooler import pooler
from tests.waiting import until


async def filled(database_url: str, settings: Settings) -> Archive:
    """An archive with season 12 and one result."""
    archive = await Archive.connect(database_url, settings, Metrics())
    await archive.migrate()
    await archive.create_season(season(12))
    await append(archive, await new_log(archive), result(1, 1, 10))
    return archive


async def test_a_call_that_finds_every_connection_taken_fails_in_time(database_url: str) -> None:  # C1
    archive = await filled(database_url, Settings(pool_size=2, pool_wait_s=0.2))
    async with archive.totals(12), archive.totals(12):
        assert archive.idle_connections == 0
        async with asyncio.timeout(20):
            with pytest.raises(ArchiveUnavailable):
                await archive.count(12)
    assert archive.idle_connections == 2
    assert await archive.count(12) == 1
    await archive.close()


async def test_closing_waits_for_no_one_for_long(database_url: str) -> None:  # C1
    archive = await filled(database_url, Settings(pool_size=2))
    holding, held = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with archive.totals(12):
            held.set()
            await holding.wait()

    holder = asyncio.create_task(hold())
    await held.wait()
    async with asyncio.timeout(20):
        await archive.close()
    holding.set()
    with pytest.raises(ArchiveUnavailable):
        await holder


async def test_a_cancelled_call_gives_its_connection_back(database_url: str) -> None:  # A9 of the other store
    archive = await filled(database_url, Settings(pool_size=2))
    locker = await asyncpg.connect(database_url)
    async with locker.transaction():
        await locker.execute("LOCK TABLE player_totals_s12")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(archive.count(12), 0.2)
    await until(lambda: archive.idle_connections == 2)
    assert await archive.count(12) == 1
    await locker.close()
    await archive.close()


async def test_a_killed_postgresql_is_unavailable_and_then_goes_on(own_postgres: Postgres) -> None:
    archive = await filled(own_postgres.address, Settings(pool_wait_s=2, query_timeout_s=2))
    own_postgres.kill()
    with pytest.raises(ArchiveUnavailable):
        await archive.count(12)
    with pytest.raises(ArchiveUnavailable):
        await Archive.connect(own_postgres.address, Settings(), Metrics())
    await own_postgres.start()
    await until(lambda: counts(archive), within=20)
    await archive.close()


async def test_a_frozen_postgresql_is_unavailable_within_the_deadline(own_postgres: Postgres) -> None:
    archive = await filled(own_postgres.address, Settings(pool_wait_s=1, query_timeout_s=1))
    own_postgres.pause()
    async with asyncio.timeout(20):
        with pytest.raises(ArchiveUnavailable):
            await archive.count(12)
    own_postgres.resume()
    await until(lambda: counts(archive), within=20)
    await archive.close()


async def counts(archive: Archive) -> bool:
    """Whether PostgreSQL answers, with the one result that it had."""
    try:
        return await archive.count(12) == 1
    except ArchiveUnavailable:
        return False


async def test_a_batch_whose_answer_got_lost_is_told_by_its_end(database_url: str) -> None:
    archive = await filled(database_url, Settings())
    log = await archive.current_log()
    assert log is not None
    batch = [(1, result(2, 2, 20))]
    await archive.store(log, 0, 1, 2, batch)
    with pytest.raises(Fenced) as fenced:
        await archive.store(log, 0, 1, 2, batch)
    assert (fenced.value.found_log, fenced.value.found_offset) == (log, 2)
    await archive.close()


async def test_a_read_only_postgresql_is_unavailable_to_writers_alone(database_url: str) -> None:
    archive = await filled(database_url, Settings())
    name = database_url.rsplit("/", 1)[1]
    await archive.close()
    connection = await asyncpg.connect(database_url)
    await connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    await connection.close()
    archive = await Archive.connect(database_url, Settings(), Metrics())
    assert await archive.count(12) == 1
    with pytest.raises(ArchiveUnavailable, match="read-only"):
        await archive.store(1, 0, 1, 1, [])
    await archive.close()


@pytest.mark.parametrize("wrong", ["no_such_database", "user"])
async def test_an_address_that_will_never_do_is_refused_at_the_start(database_url: str, wrong: str) -> None:
    database = database_url.rsplit("/", 1)[1]
    url = (
        database_url.replace(database, wrong)
        if wrong != "user"
        else database_url.replace("rankcast:", "nobody:")
    )
    with pytest.raises(StartError, match="DATABASE_URL"):
        await Archive.connect(url, Settings(), Metrics())


async def test_what_is_no_address_is_refused_at_the_start() -> None:
    with pytest.raises(StartError, match="DATABASE_URL"):
        await Archive.connect("mysql://localhost/scores", Settings(), Metrics())


async def test_a_value_that_postgresql_cannot_hold_is_no_passing_fault(archive: Archive) -> None:  # C6
    for name in ("a\0b", "\ud800"):
        with pytest.raises((asyncpg.PostgresError, ValueError)):
            await archive.save_names({1: name, 2: "Ada"})
    assert await archive.names([1, 2]) == {}


async def test_everything_works_behind_a_pooler_in_transaction_mode(database_url: str) -> None:  # C3
    async with pooler(database_url) as url:
        archive = await filled(url, Settings(database_pooler=True))
        log = await archive.current_log()
        assert log is not None
        evidence = Evidence(at_end_ago_us=0)
        for offset in range(1, 8):
            await archive.store(
                log, 0, offset, offset + 1, [(offset, result(9, 9, offset))], evidence=evidence
            )
        assert await archive.ask(log, 0, 12, [(match(9), 9, 2)]) == (8, False, [True])
        async with archive.totals(12) as snapshot:
            assert [len(chunk) async for chunk in snapshot.chunks(size=1)] == [1, 1]
        assert await archive.save_names({1: "Ada"}) == [1]
        assert await board(archive, season(12)) == [(1, 10, 0), (9, 1, 0)]
        assert not await archive.create_season(season(12))
        assert await archive.migrate() == []
        await archive.close()


async def test_the_pooler_of_the_test_shows_what_relies_on_a_session(database_url: str) -> None:
    async with pooler(database_url) as url:
        connection = await asyncpg.connect(url)
        assert await connection.fetchval("SELECT 1") == 1
        with pytest.raises(asyncpg.InvalidSQLStatementNameError):
            await connection.fetchval("SELECT 1")
        await connection.close()


async def test_a_result_that_a_constraint_refuses_is_no_passing_fault_and_nothing_of_its_batch_is_stored(
    database_url: str,
) -> None:  # C2
    archive = await filled(database_url, Settings())
    log = await archive.current_log()
    assert log is not None
    connection = await asyncpg.connect(database_url)
    await connection.execute("ALTER TABLE match_results ADD CONSTRAINT fair CHECK (points < 1000)")
    with pytest.raises(StoreRefused, match='violates check constraint "fair"'):
        await archive.store(log, 0, 1, 4, [(1, result(2, 2, 20)), (2, result(3, 3, 1000))])
    await connection.execute("ALTER TABLE match_results DROP CONSTRAINT fair")
    await connection.close()
    assert await archive.count(12) == 1
    assert await archive.next_offsets(log) == {0: 1}
    await archive.close()
