"""Two orders held against each other: whatever differs is found, whatever order and pieces they come in."""

import hashlib
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from server.core.board_text import BoardHash, board_lines
from server.core.comparison import ABSENT, Comparison
from server.core.member_order import Int64s
from server.core.order import OrderedIndex

PLAYERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-12, 12)
BOARDS = st.dictionaries(PLAYERS, st.integers(0, 3) | st.integers(0, 2**53 - 1), max_size=30)
Rows = list[tuple[int, int]]


def column(values: Sequence[int]) -> Int64s:
    return np.array(values, np.int64)


def index_of(board: dict[int, int]) -> OrderedIndex:
    return OrderedIndex.from_arrays(column(list(board)), column(list(board.values())))


def in_order(board: dict[int, int]) -> Rows:
    return sorted(board.items(), key=lambda row: (row[1], str(row[0]).encode()), reverse=True)


def compare(held: dict[int, int], streamed: Rows, size: int = 3, *, ordered: bool = True) -> Comparison:
    comparison = Comparison(index_of(held))
    for start in range(0, len(streamed), size):
        piece = streamed[start : start + size]
        comparison.take(column([p for p, _ in piece]), column([s for _, s in piece]), in_order=ordered)
    return comparison


def named(comparison: Comparison) -> dict[int, tuple[int, int]]:
    found = comparison.differences()
    rows = zip(*(each.tolist() for each in found), strict=True)
    return {player: (held, streamed) for player, held, streamed in rows}


@given(BOARDS, st.integers(1, 40))
def test_a_board_equals_itself_in_pieces_of_any_size(board: dict[int, int], size: int) -> None:
    comparison = compare(board, in_order(board), size)
    assert (named(comparison), comparison.misplaced, comparison.streamed) == ({}, [], len(board))


@given(BOARDS, BOARDS, st.randoms(), st.integers(1, 40))
def test_exactly_those_who_differ_are_named_whatever_order_they_come_in(
    held: dict[int, int], streamed: dict[int, int], chance: object, size: int
) -> None:
    rows = list(streamed.items())
    chance.shuffle(rows)  # type: ignore[attr-defined]  # hypothesis's Random is typed as object here
    wanted = {
        player: (held.get(player, ABSENT), streamed.get(player, ABSENT))
        for player in held.keys() | streamed.keys()
        if held.get(player) != streamed.get(player)
    }
    assert named(compare(held, rows, size, ordered=False)) == wanted


@given(BOARDS, BOARDS, st.integers(1, 40))
def test_rows_that_differ_put_nobody_else_out_of_order(
    held: dict[int, int], streamed: dict[int, int], size: int
) -> None:
    assert compare(held, in_order(streamed), size).misplaced == []


@given(st.lists(PLAYERS, min_size=2, max_size=20, unique=True), st.data(), st.integers(1, 5))
def test_equal_rows_in_another_order_are_found(players: list[int], data: st.DataObject, size: int) -> None:
    board = dict.fromkeys(players, 7)
    rows = in_order(board)
    at = data.draw(st.integers(0, len(rows) - 2))
    rows[at], rows[at + 1] = rows[at + 1], rows[at]
    comparison = compare(board, rows, size)
    assert comparison.misplaced == [rows[at + 1][0]]
    assert named(comparison) == {}


@given(BOARDS, st.integers(1, 40))
def test_the_hash_does_not_depend_on_the_pieces(board: dict[int, int], size: int) -> None:
    rows, whole, pieces = in_order(board), BoardHash(), BoardHash()
    players, scores = column([p for p, _ in rows]), column([s for _, s in rows])
    whole.add(players, scores, scores)
    for start in range(0, len(rows), size):
        pieces.add(*[each[start : start + size] for each in (players, scores, scores)])
    assert pieces.hexdigest() == whole.hexdigest()
    assert pieces.players == len(board)


def test_the_text_is_a_line_a_player_with_the_rank_first() -> None:
    lines = board_lines(9, column([-7, 2**63 - 1]), column([5, 0]), column([1791828191000, -86400000]))
    assert lines == b"9 -7 5 1791828191000\n10 9223372036854775807 0 -86400000\n"


def test_no_players_have_the_hash_of_no_text() -> None:
    assert BoardHash().hexdigest() == hashlib.sha256().hexdigest()
