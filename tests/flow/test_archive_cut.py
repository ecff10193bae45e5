"""Binary COPY taken apart, whatever pieces it comes in; seasons as of a position in the log."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.archive.binary_copy import CopyRows
from server.archive.cut import Ways
from server.archive.store import Archive
from server.core.season import Operator
from tests.flow.archives import append, new_log, result, season

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
VALUES = st.integers(-(2**63), 2**63 - 1)


def copied(rows: list[tuple[int, int]]) -> bytes:
    """What PostgreSQL sends of two columns."""
    return HEADER + b"".join(struct.pack(">hiqiq", 2, 8, a, 8, b) for a, b in rows) + b"\xff\xff"


@given(st.lists(st.tuples(VALUES, VALUES), max_size=8), st.integers(1, 200))
def test_rows_come_out_whole_whatever_pieces_they_came_in(rows: list[tuple[int, int]], size: int) -> None:
    data, reader = copied(rows), CopyRows(2)
    parts = [reader.feed(data[start : start + size]) for start in range(0, len(data), size)]
    reader.end()
    assert [tuple(row) for row in np.concatenate(parts).tolist()] == rows


@given(st.integers(0, 60))
def test_a_stream_that_breaks_off_is_noticed(length: int) -> None:
    data, reader = copied([(1, 2)]), CopyRows(2)
    reader.feed(data[: min(length, len(data) - 1)])
    with pytest.raises(ValueError, match="breaks off"):
        reader.end()


@pytest.mark.parametrize("data", [b"x" * 40, HEADER + struct.pack(">hiqiqiq", 3, 8, 1, 8, 2, 8, 3)])
def test_another_format_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"no binary COPY|has 3 columns"):
        CopyRows(2).feed(data)


@pytest.mark.parametrize("operator", ["best", "sum"])
async def test_a_season_of_every_split_and_tick_is_what_totals_hold(
    archive: Archive, operator: Operator
) -> None:
    splits = [(1, 52, "1 millisecond"), (31, 22, "5 minutes"), (3, 32, "1 second"), (21, 32, "1 day")]
    log = await new_log(archive)
    for number, (points_bits, time_bits, tick) in enumerate(splits, start=1):
        of = season(number, points_bits=points_bits, time_bits=time_bits, tick=tick, operator=operator)
        await archive.create_season(of)
        most = of.codec.max_points
        await append(
            archive,
            log,
            *[result(n, n % 3, min(n * n, most), n * 7777.123456, season_id=number) for n in range(30)],
        )
        async with archive.cut(number) as cut:
            ways = await cut.look_up(cut.offsets, [0, 1, 2, 3])
        totals = {total.player_id: total[1:] for total in await archive.top(number, 10)}
        assert {way.player: way[1:3] for way in ways} == totals
        assert {way.player: way[3:5] for way in ways} == totals
        assert {way.player: way[5:7] for way in ways} == totals


@pytest.mark.parametrize("operator", ["best", "sum"])
async def test_every_earlier_position_is_what_totals_held_then(archive: Archive, operator: Operator) -> None:
    of = season(operator=operator, points_bits=4)
    await archive.create_season(of)
    log = await new_log(archive, partitions=2)
    history: list[tuple[dict[int, int], dict[int, tuple[int, int]]]] = []
    for n in range(12):
        totals = {total.player_id: (total.points, total.achieved_us) for total in await archive.top(12, 10)}
        history.append((await archive.next_offsets(log), totals))
        await append(archive, log, result(n, n % 4, n * 5 % 11, n * 10), partition=n % 2)
    async with archive.cut(12) as cut:
        for offsets, totals in history:
            ways = await cut.look_up(offsets, list(range(4)))
            assert {way.player: way[1:3] for way in ways if way.board_points >= 0} == totals


async def test_a_player_who_came_after_the_position_is_not_there_yet_with_the_longest_tick_too(
    archive: Archive,
) -> None:
    await archive.create_season(season(points_bits=21, time_bits=32, tick="1 day"))
    log = await new_log(archive)
    before = await archive.next_offsets(log)
    await append(archive, log, result(1, 7, 5, 3))
    async with archive.cut(12) as cut:
        (way,) = await cut.look_up(before, [7])
    assert (way.board_points, way.row_points, way.total_points) == (-1, 5, 5)


async def test_a_total_that_a_hand_has_changed_is_put_right(archive: Archive) -> None:
    await archive.create_season(season())
    log = await new_log(archive)
    await append(archive, log, *[result(n, n, 5, n) for n in range(4)])
    wanted = await archive.top(12, 10)
    async with archive._database.transaction() as connection:
        await connection.execute("UPDATE player_totals SET points = 6 WHERE player_id = 1")
        await connection.execute("DELETE FROM player_totals WHERE player_id = 2")
        await connection.execute("INSERT INTO player_totals VALUES (12, 99, 5, now())")
    assert await archive.mend_totals(12, [0, 1, 2, 99]) == 3
    assert await archive.top(12, 10) == wanted
    assert await archive.mend_totals(12, [0, 1, 2, 3, 99]) == 0


async def test_points_and_times_that_no_season_holds_are_told_and_break_nothing(archive: Archive) -> None:
    await archive.create_season(season(points_bits=1, time_bits=52, tick="1 millisecond"))
    log = await new_log(archive)
    await append(archive, log, result(1, 7, 1, 3), result(2, 8, 1, 3))
    async with archive._database.transaction() as connection:
        await connection.execute("UPDATE match_results SET points = 2147483647 WHERE player_id = 7")
        await connection.execute("UPDATE match_results SET achieved_at = 'epoch' WHERE player_id = 8")
    async with archive.cut(12) as cut:
        ways = {way.player: way for way in await cut.look_up(cut.offsets, [7, 8])}
    assert (ways[7].row_points, ways[7].total_points) == (2, 1)
    assert ways[8][3:5] != ways[8][5:7]


async def test_ways_of_a_player_without_rows_or_total_say_so(archive: Archive) -> None:
    await archive.create_season(season())
    log = await new_log(archive)
    await append(archive, log, result(1, 7, 5, 3))
    async with archive.cut(12) as cut:
        assert await cut.look_up({}, [8]) == []
        (way,) = await cut.look_up({0: 0}, [7])
        assert (way.board_points, way.row_points, way.total_points) == (-1, 5, 5)
        assert isinstance(way, Ways)
