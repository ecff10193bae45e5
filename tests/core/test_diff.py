"""The law of diffs, for any two lists of rows, and that a diff is as small as it can be."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from server.core.diff import Diff, Placed, apply, difference, longest_rise
from server.core.rows import Row
from tests.core.boards import lists_of_rows, two_boards


@given(two_boards())
def test_a_diff_applied_to_the_rows_before_gives_the_rows_after(boards: tuple[list[Row], list[Row]]) -> None:
    before, after = boards
    assert apply(before, difference(before, after)) == after


@given(lists_of_rows, lists_of_rows)
def test_the_law_holds_for_boards_that_have_nothing_to_do_with_each_other(
    before: list[Row], after: list[Row]
) -> None:
    assert apply(before, difference(before, after)) == after


@given(lists_of_rows)
def test_equal_boards_differ_in_nothing(rows: list[Row]) -> None:
    assert difference(rows, list(rows)) == Diff([], [])


@given(two_boards())
def test_gone_are_exactly_the_players_who_left(boards: tuple[list[Row], list[Row]]) -> None:
    before, after = boards
    left = {row.player for row in before} - {row.player for row in after}
    change = difference(before, after)
    assert set(change.gone) == left
    assert len(change.gone) == len(left)


@given(two_boards())
def test_set_is_by_rank_and_holds_everybody_who_entered_or_changed(
    boards: tuple[list[Row], list[Row]],
) -> None:
    before, after = boards
    put = difference(before, after).put
    ranks = [placed.rank for placed in put]
    assert ranks == sorted(set(ranks))
    assert all(after[placed.rank - 1] == placed.row for placed in put)
    assert {row for row in after if row not in before} <= {placed.row for placed in put}


@given(two_boards())
def test_no_unchanged_row_is_sent_that_could_have_kept_its_order(
    boards: tuple[list[Row], list[Row]],
) -> None:
    before, after = boards
    same = [row for row in after if row in before]
    moved = [placed for placed in difference(before, after).put if placed.row in before]
    assert len(moved) == len(same) - _longest_rise_by_trying([before.index(row) for row in same])


def test_one_player_who_overtakes_another_is_one_row() -> None:
    before = [Row(1, 30, 0), Row(2, 20, 0), Row(3, 10, 0)]
    after = [Row(3, 40, 5), Row(1, 30, 0), Row(2, 20, 0)]
    assert difference(before, after) == Diff([], [Placed(1, Row(3, 40, 5))])


def test_who_is_pushed_out_of_the_view_is_gone_and_who_enters_is_set() -> None:
    """F4: the newcomer at the last rank of a view is told like any other."""
    before = [Row(1, 30, 0), Row(2, 20, 0), Row(3, 10, 0)]
    after = [Row(1, 30, 0), Row(3, 10, 0), Row(4, 9, 7)]
    assert difference(before, after) == Diff([2], [Placed(3, Row(4, 9, 7))])


@given(st.lists(st.integers(-50, 50), max_size=12, unique=True))
def test_the_longest_rise_rises_and_none_is_longer(numbers: list[int]) -> None:
    indices = list(longest_rise(numbers))
    assert indices == sorted(indices)
    picked = [numbers[index] for index in indices]
    assert picked == sorted(picked)
    assert len(picked) == _longest_rise_by_trying(numbers)


def _longest_rise_by_trying(numbers: list[int]) -> int:
    for length in range(len(numbers), 0, -1):
        if any(list(part) == sorted(part) for part in combinations(numbers, length)):
            return length
    return 0
