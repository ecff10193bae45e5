"""Laws over random results: totals are what the board's scores say, however results are dealt."""

import random
from collections.abc import Sequence
from typing import Literal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.archive.store import Archive
from server.core.results import Result
from server.core.season import Season
from tests.flow.archives import STARTS_US, append, match, new_log, season

LAWS = settings(
    max_examples=40,
    deadline=None,  # a real PostgreSQL takes its time
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # each example makes a season of its own
)
RESULTS = st.lists(
    st.tuples(
        st.integers(0, 8), st.sampled_from([-10, -1, 0, 1, 2, 10]), st.integers(0, 15), st.integers(0, 20)
    ),
    max_size=40,
)
Dealt = tuple[int, int, int, int]


def scores(of: Season, results: Sequence[Result]) -> dict[int, int]:
    """The board as Redis makes it, one result after another: player → score."""
    codec, seen, board = of.codec, set[tuple[str, int]](), dict[int, int]()
    for each in results:
        if (each.match_id, each.player_id) in seen:
            continue
        seen.add((each.match_id, each.player_id))
        old, score = board.get(each.player_id), codec.encode(each.points, each.achieved_us)
        if of.operator == "best":
            board[each.player_id] = max(score, old or 0)
        else:
            low = score & codec.max_ticks if each.points else codec.max_ticks
            added = each.points + ((old >> of.time_bits) if old is not None else 0)
            low = min(low, old & codec.max_ticks) if old is not None else low
            board[each.player_id] = min(added, codec.max_points) << of.time_bits | low
    return board


async def law(archive: Archive, operator: Literal["best", "sum"], dealt: list[Dealt], cuts: int) -> None:
    """Store the results in random batches; the totals, in SQL's order, are the board's rows in its order."""
    season_id = len(await archive.seasons()) + 1
    of = season(season_id, operator=operator, points_bits=4, time_bits=20, tick="5 minutes")
    await archive.create_season(of)
    log = await new_log(archive)
    results = [
        Result(match(number), player, season_id, points, STARTS_US + at * 60_000_000)
        for number, player, points, at in dealt
    ]
    at, deal = 0, random.Random(cuts)
    while at < len(results):
        size = deal.randrange(1, 15)
        await append(archive, log, *results[at : at + size])
        at += size
    expected = scores(of, results)
    order = sorted(expected, key=lambda player: (expected[player], str(player).encode()), reverse=True)
    rows = await archive.top(season_id, 100)
    assert [row.player_id for row in rows] == order
    assert [of.codec.encode(row.points, row.achieved_us) for row in rows] == [
        expected[player] for player in order
    ]
    assert await archive.count(season_id) == len(order)


@LAWS
@given(dealt=RESULTS, cuts=st.integers(0, 1_000))
async def test_the_best_in_sql_is_the_best_on_the_board(
    archive: Archive, dealt: list[Dealt], cuts: int
) -> None:
    await law(archive, "best", dealt, cuts)


@LAWS
@given(dealt=RESULTS, cuts=st.integers(0, 1_000))
async def test_the_sum_in_sql_is_the_sum_on_the_board(
    archive: Archive, dealt: list[Dealt], cuts: int
) -> None:
    await law(archive, "sum", dealt, cuts)


@LAWS
@given(
    dealt=RESULTS.filter(lambda dealt: len({row[:2] for row in dealt}) == len(dealt)),
    cuts=st.integers(0, 1_000),
)
async def test_any_order_of_different_results_ends_in_one_board(
    archive: Archive, dealt: list[Dealt], cuts: int
) -> None:
    mixed = random.Random(cuts).sample(dealt, len(dealt))
    for operator in ("best", "sum"):
        await law(archive, operator, dealt, cuts)
        first = await archive.top(len(await archive.seasons()), 100)
        await law(archive, operator, mixed, cuts)
        assert await archive.top(len(await archive.seasons()), 100) == first
