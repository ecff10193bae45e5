"""The schema: applied once, by one process at a time, and never behind a newer version's back."""

import asyncio

import asyncpg
import pytest

from server.archive.database import Database
from server.archive.migrate import Migration, migrate, migrations
from server.archive.store import Archive
from server.errors import StartError
from server.metrics import Metrics
from server.settings import Settings

NAMES = [step.name for step in migrations()]


async def connected(database_url: str) -> Archive:
    return await Archive.connect(database_url, Settings(), Metrics())


async def apply(database_url: str, steps: list[Migration]) -> list[str]:
    database = await Database.connect(database_url, Settings())
    try:
        async with database.transaction() as connection:
            return await migrate(connection, steps)
    finally:
        await database.close()


async def tables(database_url: str) -> set[str]:
    connection = await asyncpg.connect(database_url)
    rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    await connection.close()
    return {row["tablename"] for row in rows}


async def test_a_fresh_database_gets_every_migration_once(database_url: str) -> None:
    archive = await connected(database_url)
    assert await archive.migrate() == NAMES
    assert await archive.migrate() == []
    await archive.close()


async def test_of_processes_that_start_at_once_one_migrates_and_the_others_wait(database_url: str) -> None:
    archives = [await connected(database_url) for _ in range(4)]
    applied = await asyncio.gather(*(archive.migrate() for archive in archives))
    assert sorted(applied) == [[], [], [], NAMES]
    for archive in archives:
        await archive.close()


async def test_a_database_of_a_newer_version_is_refused_with_the_remedy(database_url: str) -> None:
    newer = Migration(len(NAMES) + 1, f"{len(NAMES) + 1:03}_tomorrow.sql", "CREATE TABLE tomorrow (id INT)")
    await apply(database_url, [*migrations(), newer])
    archive = await connected(database_url)
    with pytest.raises(StartError, match=r"tomorrow.*newer version"):
        await archive.migrate()
    await archive.close()


async def test_a_migration_that_fails_leaves_the_database_as_it_was(database_url: str) -> None:
    broken = Migration(len(NAMES) + 1, "broken.sql", "CREATE TABLE half (id INT); SELECT 1 / 0")
    with pytest.raises(asyncpg.DivisionByZeroError):
        await apply(database_url, [*migrations(), broken])
    assert await tables(database_url) == set()


async def test_results_have_the_columns_and_keys_that_analysts_expect(database_url: str) -> None:
    archive = await connected(database_url)
    await archive.migrate()
    await archive.close()
    connection = await asyncpg.connect(database_url)
    columns = await connection.fetch(
        "SELECT column_name, data_type, is_nullable FROM information_schema.columns "
        "WHERE table_name = 'match_results' ORDER BY ordinal_position"
    )
    indexes = await connection.fetch("SELECT indexdef FROM pg_indexes WHERE tablename = 'match_results'")
    await connection.close()
    assert [tuple(row.values()) for row in columns] == [
        ("match_id", "uuid", "NO"),
        ("player_id", "bigint", "NO"),
        ("season_id", "integer", "NO"),
        ("points", "integer", "NO"),
        ("achieved_at", "timestamp with time zone", "NO"),
        ("log_id", "integer", "NO"),
        ("log_partition", "integer", "NO"),
        ("log_offset", "bigint", "NO"),
    ]
    assert sorted(row["indexdef"].split(" ON ")[1] for row in indexes) == [
        "ONLY public.match_results USING btree (match_id, player_id, season_id)",
        "ONLY public.match_results USING btree (season_id, player_id)",
    ]


async def test_a_database_that_cannot_hold_every_name_is_refused_at_the_start(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    name = database_url.rsplit("/", 1)[1] + "_ascii"
    await connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
    with pytest.raises(StartError, match=r"SQL_ASCII.*UTF8"):
        await connected(database_url + "_ascii")
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()
