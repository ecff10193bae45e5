"""Persist's transaction: rows, totals and offset or nothing, and what counts (C2, F1, F2, F5, F11)."""

import asyncio

import pytest

from server.archive.errors import Fenced, LogLeft
from server.archive.store import Archive
from server.core.log_identity import LogIdentity
from server.core.refusals import Refusal
from server.core.results import Result, parse_record, result_value
from server.errors import RankcastError
from server.feed.reader import LogChanged
from tests.flow.archives import STARTS_US, append, board, match, new_log, result, season


@pytest.fixture
async def log(archive: Archive) -> int:
    """A held log of two partitions, and the seasons 12 (best) and 13 (sum)."""
    await archive.create_season(season(12))
    await archive.create_season(season(13, operator="sum"))
    return await new_log(archive, partitions=2)


async def test_bad_and_repeated_results_cost_their_neighbours_nothing(
    archive: Archive, log: int
) -> None:  # C2
    await append(archive, log, result(1, 1, 10))
    batch = [result(number, number, 5) for number in range(1, 499)]  # match 1 is stored already
    values = [result_value(each) for each in [*batch, batch[-1]]] + [
        result_value(batch[-1]).replace(b"5,", b'"5",')
    ]
    parsed = [parse_record(value, None, 0, {12: season(12)}.get, check_key=False) for value in values]
    good = [(offset, each) for offset, each in enumerate(parsed, 1) if isinstance(each, Result)]
    assert [each.code for each in parsed if isinstance(each, Refusal)] == ["bad_points"]
    reply = await archive.store(log, 0, 1, 501, good)
    assert (reply.new, reply.repeated) == (497, 2)
    assert await archive.next_offsets(log) == {0: 501, 1: 0}
    assert await archive.count(12) == 498


async def test_of_two_records_of_one_match_and_player_the_first_counts(
    archive: Archive, log: int
) -> None:  # F11
    await append(archive, log, result(1, 7, 50), result(1, 7, 90), result(1, 8, 20))
    await append(archive, log, result(1, 7, 99), result(2, 7, 40))
    assert await board(archive, season()) == [(7, 50, 0), (8, 20, 0)]


async def test_best_keeps_the_highest_points_and_of_equal_ones_the_earliest(
    archive: Archive, log: int
) -> None:  # F2
    await append(archive, log, result(1, 1, 100, 10), result(2, 2, 100, 20))
    await append(archive, log, result(3, 1, 100, 30), result(4, 1, 90, 5))
    assert await board(archive, season()) == [(1, 100, 10), (2, 100, 20)]
    await append(archive, log, result(5, 2, 100, 9))
    assert await board(archive, season()) == [(2, 100, 9), (1, 100, 10)]


async def test_sum_adds_and_tells_the_time_of_the_latest_points(archive: Archive, log: int) -> None:
    results = [result(1, 1, 5, 10), result(2, 1, 7, 3), result(3, 1, 0, 99), result(4, 2, 0, 50)]
    await append(
        archive, log, *(Result(r.match_id, r.player_id, 13, r.points, r.achieved_us) for r in results)
    )
    assert await board(archive, season(13)) == [(1, 12, 10), (2, 0, 0)]


async def test_a_sum_stays_at_the_seasons_maximum_and_says_so(archive: Archive, log: int) -> None:
    small = season(14, operator="sum", points_bits=4)
    await archive.create_season(small)
    first = await append(archive, log, result(1, 1, 10, 1, season_id=14), result(2, 2, 14, 1, season_id=14))
    second = await append(archive, log, result(3, 1, 10, 2, season_id=14))
    third = await append(archive, log, result(4, 1, 0, 3, season_id=14), result(5, 1, 15, 4, season_id=14))
    assert [reply[3] for reply in (first, second, third)] == [0, 1, 1]
    assert await board(archive, small) == [(1, 15, 4), (2, 14, 1)]


async def test_a_score_of_zero_ranks_like_any_other(archive: Archive, log: int) -> None:  # F5
    await append(archive, log, result(1, 1, 0, 5), result(2, 2, 0, 4))
    assert await board(archive, season()) == [(2, 0, 4), (1, 0, 5)]


async def test_equal_points_in_one_tick_rank_by_the_bytes_of_the_id(archive: Archive, log: int) -> None:  # F7
    players = [9223372036854775807, 9, 10, 1, 0, -9223372036854775808, -10, -1]
    await append(
        archive, log, *(result(n, player, 5, 7 + n / 10) for n, player in enumerate(reversed(players)))
    )
    assert await board(archive, season()) == [(player, 5, 7) for player in players]


async def test_one_batch_may_carry_results_of_several_seasons(archive: Archive, log: int) -> None:
    rows = [result(1, 1, 5), result(1, 1, 6, season_id=13), result(2, 1, 7), result(2, 1, 8, season_id=13)]
    assert await append(archive, log, *rows) == (4, 0, 2, 0)
    assert await board(archive, season(12)) == [(1, 7, 0)]
    assert await board(archive, season(13)) == [(1, 14, 0)]


async def test_whatever_the_core_takes_is_stored_exactly(archive: Archive, log: int) -> None:  # C4, C5
    widest = season(
        15,
        starts_at="0001-01-01T00:00:00Z",
        ends_at="9999-12-31T23:59:59.999999Z",
        points_bits=31,
        time_bits=22,
        tick="1 day",
    )
    await archive.create_season(widest)
    extremes = [
        Result(match(2**128 - 1), 2**63 - 1, 15, 2**31 - 1, widest.starts_us),
        Result(match(0), -(2**63), 15, 0, widest.ends_us - 1),
        Result("AbCdEf00-0000-4000-8000-00000000000a".lower(), 2**31, 15, 2**31 - 2, -1),
    ]
    await append(archive, log, *extremes)
    rows = await archive.top(15, 10)
    assert {(row.player_id, row.points, row.achieved_us) for row in rows} == {
        (each.player_id, each.points, widest.codec.tick_start_us(each.achieved_us)) for each in extremes
    }


async def test_a_batch_that_does_not_start_where_postgresql_stands_writes_nothing(
    archive: Archive, log: int
) -> None:
    await append(archive, log, result(1, 1, 10), result(2, 2, 10))
    for start, end in ((0, 2), (1, 3), (3, 4)):
        with pytest.raises(Fenced) as fenced:
            await archive.store(log, 0, start, end, [(start, result(9, 9, 99))])
        assert (fenced.value.found_log, fenced.value.found_offset) == (log, 2)
    assert await board(archive, season()) == [(2, 10, 0), (1, 10, 0)]
    assert await archive.next_offsets(log) == {0: 2, 1: 0}


async def test_of_two_processes_that_read_one_range_one_writes(archive: Archive, log: int) -> None:
    tries = (archive.store(log, 0, 0, 50, [(n, result(n, n, 10)) for n in range(50)]) for _ in range(4))
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(outcome, Fenced) for outcome in outcomes) == 3
    assert await archive.count(12) == 50


async def test_a_range_without_results_moves_the_offset_alone(archive: Archive, log: int) -> None:
    assert await archive.store(log, 1, 0, 40, []) == (0, 0, 0, 0)
    assert await archive.next_offsets(log) == {0: 0, 1: 40}


async def test_an_unknown_season_stops_the_batch_before_anything_is_written(
    archive: Archive, log: int
) -> None:
    with pytest.raises(RankcastError, match="season 99"):
        await append(archive, log, result(1, 1, 10), result(2, 2, 10, season_id=99))
    assert (await archive.next_offsets(log), await archive.count(12)) == ({0: 0, 1: 0}, 0)


async def test_a_log_has_one_number_for_ever(archive: Archive) -> None:
    identities = [LogIdentity("A", "t", ""), LogIdentity("A", "t", "0" * 32), LogIdentity("B", "t", "")]
    numbers = await asyncio.gather(*(archive.log_number(identity) for identity in identities * 3))
    assert len(set(numbers)) == 3
    assert numbers[:3] * 3 == numbers
    assert await archive.current_log() is None


async def test_persist_goes_on_where_it_stood(archive: Archive, log: int) -> None:
    await append(archive, log, result(1, 1, 10))
    assert await archive.hold(log, 0, 0) == 1
    assert await archive.hold(log, 5, 17) == 17
    assert await archive.next_offsets(log) == {0: 1, 1: 0, 5: 17}


async def test_a_log_once_left_never_returns(archive: Archive, log: int) -> None:
    await append(archive, log, result(1, 1, 10))
    second = await new_log(archive, "B")
    assert await archive.current_log() == second
    assert await archive.next_offsets(log) == {}
    with pytest.raises(LogLeft):
        await archive.hold(log, 0, 0)
    with pytest.raises(Fenced) as fenced:
        await archive.store(log, 0, 1, 2, [(1, result(2, 2, 10))])
    assert (fenced.value.found_log, fenced.value.found_offset) == (second, None)


async def test_a_log_that_the_topic_is_no_more_takes_no_other_ones_place(archive: Archive, log: int) -> None:
    await append(archive, log, result(1, 1, 10))
    gone = await archive.log_number(LogIdentity("gone", "match-results", ""))

    async def verify() -> None:
        raise LogChanged("the topic is another log")

    with pytest.raises(LogChanged):
        await archive.hold(gone, 0, 0, verify)
    assert await archive.current_log() == log
    assert await archive.next_offsets(log) == {0: 1, 1: 0}
    assert await archive.hold(log, 0, 0, verify) == 1  # whoever has it need not ask


async def test_a_retry_in_a_new_log_is_a_repetition(archive: Archive, log: int) -> None:
    await append(archive, log, result(1, 1, 10))
    second = await new_log(archive, "B")
    assert await append(archive, second, result(1, 1, 99)) == (0, 1, 0, 0)
    assert await board(archive, season()) == [(1, 10, 0)]


async def test_a_batch_of_the_old_log_is_written_before_the_change_or_not_at_all(
    archive: Archive, log: int
) -> None:
    rows = [(offset, result(offset, offset, 10)) for offset in range(2_000)]
    storing = asyncio.create_task(archive.store(log, 0, 0, 2_000, rows))
    second = await new_log(archive, "B")
    async with archive.totals(12) as snapshot:
        seen = [total async for chunk in snapshot.chunks() for total in chunk]
    outcome = (await asyncio.gather(storing, return_exceptions=True))[0]
    assert snapshot.log == second
    assert len(seen) == await archive.count(12) == (0 if isinstance(outcome, Fenced) else 2_000)


async def test_results_are_stored_in_the_season_whatever_the_tick(archive: Archive, log: int) -> None:
    coarse = season(16, tick="5 minutes")
    await archive.create_season(coarse)
    late = Result(match(1), 1, 16, 10, STARTS_US + 599_999_999)
    early = Result(match(2), 2, 16, 10, STARTS_US + 300_000_000)
    await append(archive, log, late, early)
    assert await board(archive, coarse) == [(2, 10, 300), (1, 10, 300)]
