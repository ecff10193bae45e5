"""Seasons in PostgreSQL: made once, final, reset at once; and the catalog that seldom asks (F6)."""

import asyncio
from collections.abc import Collection

import pytest

from server.archive.catalog import SeasonCatalog
from server.archive.errors import SeasonDiffers
from server.archive.store import Archive
from server.core.season import Season
from server.embedded.postgres import Postgres
from server.errors import RankcastError
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.archives import append, new_log, result, season
from tests.waiting import until

SEASONS = [
    season(1),
    season(2, operator="sum", points_bits=31, time_bits=22, tick="5 minutes", grace="0 seconds"),
    season(3, starts_at="0001-01-01T00:00:00Z", ends_at="9999-12-31T23:59:59.999999Z", tick="1 day"),
    season(4, name="Été 'DROP'", time_zone="Europe/Paris", tick="100 milliseconds", grace="90 seconds"),
]


async def test_a_season_is_read_as_it_was_made(archive: Archive) -> None:
    for made in SEASONS:
        assert await archive.create_season(made)
        assert await archive.season(made.season_id) == made
    assert await archive.seasons() == SEASONS
    assert await archive.seasons([2, 9, 4]) == [SEASONS[1], SEASONS[3]]


async def test_the_same_definition_again_is_fine_and_another_is_refused_with_the_difference(
    archive: Archive,
) -> None:
    assert await archive.create_season(season(12))
    assert not await archive.create_season(season(12))
    with pytest.raises(SeasonDiffers) as refused:
        await archive.create_season(season(12, operator="sum", tick="1 minute"))
    assert refused.value.differences == [
        "operator is 'best', not 'sum'",
        "tick is '1 second', not '1 minute'",
    ]
    assert await archive.season(12) == season(12)


async def test_of_processes_that_make_one_season_at_once_one_makes_it(archive: Archive) -> None:
    made = await asyncio.gather(*(archive.create_season(season(12)) for _ in range(4)))
    assert sorted(made) == [False, False, False, True]


async def test_making_a_season_waits_for_no_reader_of_another(archive: Archive) -> None:
    await archive.create_season(season(1))
    async with archive.totals(1), asyncio.timeout(20):
        assert await archive.create_season(season(2))


async def test_a_reset_season_is_empty_and_counts_the_same_matches_anew(archive: Archive) -> None:  # F6
    await archive.create_season(season(12))
    await archive.create_season(season(13))
    log = await new_log(archive)
    await append(archive, log, result(1, 7, 50), result(2, 8, 60), result(1, 7, 50, season_id=13))
    await archive.reset_season(12)
    assert (await archive.count(12), await archive.count(13)) == (0, 1)
    assert (await append(archive, log, result(1, 7, 40)))[0] == 1
    assert [total.points for total in await archive.top(12, 10)] == [40]


async def test_a_season_that_is_not_there_is_refused_by_its_number(archive: Archive) -> None:
    for call in (archive.reset_season(99), archive.top(99, 10), archive.count(99)):
        with pytest.raises(RankcastError, match="season 99") as refused:
            await call
        assert refused.value.code == "unknown_season"


class CountingArchive(Archive):
    """The archive, and how often it was asked for which seasons."""

    asked: list[list[int]]

    async def seasons(self, season_ids: Collection[int] | None = None) -> list[Season]:
        self.asked = [*getattr(self, "asked", []), sorted(season_ids or [])]
        return await super().seasons(season_ids)


class Clock:
    """Seconds that pass when a test says so."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


async def test_an_unknown_season_is_looked_up_at_most_once_a_second(
    archive: Archive, database_url: str
) -> None:
    counting, clock = await CountingArchive.connect(database_url, Settings(), Metrics()), Clock()
    assert isinstance(counting, CountingArchive)
    catalog = SeasonCatalog(counting, clock)
    await archive.create_season(season(1))
    assert await catalog.resolve([1, 2, 3]) == {1: season(1)}
    assert await catalog.get(2) is None
    await archive.create_season(season(2))
    clock.now += 0.9
    assert await catalog.resolve([1, 2, 4]) == {1: season(1)}
    clock.now += 0.1
    assert await catalog.get(2) == season(2)
    assert catalog.peek(2) == season(2)
    assert counting.asked == [[1, 2, 3], [4], [2]]
    await counting.close()


async def test_whoever_meets_a_season_while_it_is_looked_up_waits_for_the_answer(archive: Archive) -> None:
    await archive.create_season(season(1))
    catalog = SeasonCatalog(archive, Clock())
    assert await asyncio.gather(*(catalog.get(1) for _ in range(5))) == [season(1)] * 5


async def test_all_seasons_are_at_most_a_second_old(archive: Archive) -> None:
    clock = Clock()
    catalog = SeasonCatalog(archive, clock)
    assert await catalog.all() == []
    await archive.create_season(season(1))
    assert await catalog.all() == []
    clock.now += 1
    assert await catalog.all() == [season(1)]


async def test_the_catalog_keeps_what_it_knows_while_postgresql_is_away(own_postgres: Postgres) -> None:
    archive = await Archive.connect(own_postgres.address, Settings(pool_wait_s=1), Metrics())
    await archive.migrate()
    await archive.create_season(season(1))
    catalog, stop = SeasonCatalog(archive, asyncio.get_running_loop().time), asyncio.Event()
    refreshing = asyncio.create_task(catalog.run(stop))
    await until(lambda: catalog.peek(1))
    own_postgres.kill()
    assert await catalog.resolve([1]) == {1: season(1)}
    await own_postgres.start()
    await until(lambda: _created(archive), within=20)
    await until(lambda: catalog.peek(2))
    stop.set()
    await refreshing
    await archive.close()


async def _created(archive: Archive) -> bool:
    """Make season 2, once PostgreSQL is back."""
    try:
        return await archive.create_season(season(2)) or True
    except RankcastError:
        return False
