"""What a rebuild reads: totals and offsets of one moment, whatever goes on meanwhile (F10, F13)."""

import asyncio

import pytest

from server.archive.store import Archive
from server.archive.totals import Total
from tests.flow.archives import STARTS_US, append, new_log, result, season


@pytest.fixture
async def log(archive: Archive) -> int:
    await archive.create_season(season(12))
    return await new_log(archive)


async def test_a_season_without_results_has_offsets_and_no_totals(archive: Archive, log: int) -> None:
    await archive.store(log, 0, 0, 3, [])
    async with archive.totals(12) as snapshot:
        assert (snapshot.log, snapshot.offsets) == (log, {0: 3})
        assert [chunk async for chunk in snapshot.chunks()] == []


async def test_before_persist_has_held_anything_there_is_no_log(archive: Archive) -> None:
    await archive.create_season(season(12))
    async with archive.totals(12) as snapshot:
        assert (snapshot.log, snapshot.offsets) == (None, {})


async def test_totals_come_in_chunks_and_each_once(archive: Archive, log: int) -> None:
    await append(archive, log, *(result(player, player, player, 3.5) for player in range(25)))
    async with archive.totals(12) as snapshot:
        chunks = [chunk async for chunk in snapshot.chunks(size=10)]
    assert [len(chunk) for chunk in chunks] == [10, 10, 5]
    totals = sorted(total for chunk in chunks for total in chunk)
    assert totals == [Total(player, player, STARTS_US + 3_000_000) for player in range(25)]


async def test_totals_and_offsets_are_of_one_moment_while_results_keep_coming(
    archive: Archive, log: int
) -> None:
    await append(archive, log, *(result(player, player, 10) for player in range(30)))
    async with archive.totals(12) as snapshot:
        seen: list[Total] = []
        async for chunk in snapshot.chunks(size=10):
            number = 100 + len(seen)
            await append(archive, log, result(number, 0, 99), result(number, number, 50))
            seen += chunk
    assert snapshot.offsets == {0: 30}
    assert sorted(seen) == [Total(player, 10, STARTS_US) for player in range(30)]


async def test_a_reset_waits_for_whoever_reads_the_season(archive: Archive, log: int) -> None:
    await append(archive, log, *(result(player, player, 10) for player in range(30)))
    async with archive.totals(12) as snapshot:
        resetting = asyncio.create_task(archive.reset_season(12))
        seen = [total async for chunk in snapshot.chunks(size=7) for total in chunk]
    await resetting
    assert (len(seen), await archive.count(12)) == (30, 0)


async def test_a_fault_of_the_reader_is_not_taken_for_one_of_postgresql(archive: Archive, log: int) -> None:
    with pytest.raises(TimeoutError, match="the reader's own"):
        async with archive.totals(12):
            raise TimeoutError("the reader's own")
    assert archive.idle_connections == 5


async def test_the_top_is_no_longer_than_asked_for(archive: Archive, log: int) -> None:
    await append(archive, log, *(result(player, player, player) for player in range(10)))
    assert [total.player_id for total in await archive.top(12, 3)] == [9, 8, 7]
