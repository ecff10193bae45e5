"""The board's order against a plain sorted list, after any sequence of changes, removals and merges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from server.core.codec import MAX_SCORE
from server.core.member_order import Int64s, tie_keys
from server.core.order import Merge, OrderedIndex

LOWEST, HIGHEST = -(2**63), 2**63 - 1
EXTREMES = [
    0,
    -1,
    1,
    9,
    10,
    -10,
    100,
    2**53,
    2**53 + 1,
    LOWEST,
    LOWEST + 1,
    HIGHEST - 1,
    HIGHEST,
    10**18,
    10**18 - 1,
]

players = st.one_of(st.sampled_from(EXTREMES), st.integers(-20, 120), st.integers(LOWEST, HIGHEST))
scores = st.one_of(
    st.sampled_from([0, 1, MAX_SCORE - 1, MAX_SCORE]), st.integers(0, 5), st.integers(0, MAX_SCORE)
)
boards = st.dictionaries(players, scores, max_size=60)
changes = st.dictionaries(players, st.one_of(st.just(-1), scores), max_size=30)


def ints(values: object) -> Int64s:
    return np.array(list(values), np.int64)  # type: ignore[call-overload]  # any iterable of ints


def index_of(board: dict[int, int]) -> OrderedIndex:
    return OrderedIndex.from_arrays(ints(board), ints(board.values()))


def in_order(board: dict[int, int]) -> list[tuple[int, int]]:
    """The oracle: (player, score), best first, as ZREVRANGE gives them."""
    return sorted(board.items(), key=lambda row: (row[1], str(row[0]).encode()), reverse=True)


def rows_of(index: OrderedIndex) -> list[tuple[int, int]]:
    members, points = index.slice(1, index.total)
    return list(zip(members.tolist(), points.tolist(), strict=True))


def assert_equal(index: OrderedIndex, board: dict[int, int]) -> None:
    """Every way of reading the index tells the same as the oracle."""
    want = in_order(board)
    assert index.total == len(want)
    assert rows_of(index) == want
    ranked = [player for player, _ in want]
    strangers = [player for player in EXTREMES if player not in board]
    asked = ints(ranked[::-1] + strangers)
    assert index.ranks(asked).tolist() == [*range(len(want), 0, -1), *[0] * len(strangers)]
    assert index.scores(asked).tolist() == [board.get(player, -1) for player in asked.tolist()]
    assert [index.rank_of(player) for player in ranked] == list(range(1, len(want) + 1))
    assert [index.score_of(player) for player in ranked] == [score for _, score in want]
    assert all(index.rank_of(player) is None and index.score_of(player) is None for player in strangers)


def test_equal_scores_are_ordered_as_zrevrange_orders_them() -> None:
    order = [9223372036854775807, 9, 10, 1, 0, -9223372036854775808, -10, -1]
    assert [player for player, _ in rows_of(index_of(dict.fromkeys(sorted(order), 7)))] == order


@given(st.sets(players, max_size=200))
def test_tie_keys_ascend_as_texts_descend(ids: set[int]) -> None:
    by_text = sorted(ids, key=lambda player: str(player).encode(), reverse=True)
    keys = tie_keys(ints(by_text)).tolist()
    assert keys == sorted(set(keys))


def test_tie_keys_number_all_ids_without_a_hole() -> None:
    last_text, first_text = 999_999_999_999_999_999, -1
    assert tie_keys(ints([last_text, first_text])).tolist() == [0, 2**64 - 1]
    assert tie_keys(ints([0])).tolist() == [2**63 - 1]
    assert tie_keys(ints([-999_999_999_999_999_999])).tolist() == [2**63]


@given(boards)
def test_an_index_of_any_board_equals_a_sorted_list(board: dict[int, int]) -> None:
    assert_equal(index_of(board), board)


@pytest.mark.parametrize("board", [{}, {42: 0}, {LOWEST: MAX_SCORE}])
def test_an_empty_board_and_one_of_one_player(board: dict[int, int]) -> None:
    index = index_of(board)
    assert_equal(index, board)
    index.apply(ints(board), ints([-1] * len(board)))
    assert_equal(index, {})
    index.apply(ints([7]), ints([3]))
    assert_equal(index, {7: 3})


def test_thousands_of_equal_scores_keep_the_order_of_texts_through_changes_and_merges() -> None:
    random = np.random.default_rng(5)
    ids = np.unique(np.concatenate([random.integers(LOWEST, HIGHEST, 3000), np.arange(-1500, 1500)]))
    board = dict.fromkeys(ids.tolist(), 500)
    index = index_of(board)
    for score in (500, 501, 500, -1, 500):
        moved = random.choice(ids, 700, replace=False)
        index.apply(moved, np.full(700, score))
        board.update(dict.fromkeys(moved.tolist(), score))
        assert rows_of(index) == in_order({player: points for player, points in board.items() if points >= 0})
        if score == 501:
            merge = index.start_merge()
            merge.run()
            index.finish_merge(merge)


class OrderMachine(RuleBasedStateMachine):
    """Changes, snapshots and merges in any order; the index always equals the oracle."""

    def __init__(self) -> None:
        super().__init__()
        self.index, self.board = OrderedIndex(), dict[int, int]()
        self.merge: Merge | None = None
        self.kept = (self.index.snapshot(), self.board.copy())

    @rule(board=boards)
    def load(self, board: dict[int, int]) -> None:
        self.index, self.board, self.merge = index_of(board), dict(board), None

    @rule(batch=changes)
    def apply(self, batch: dict[int, int]) -> None:
        self._apply(batch)

    @rule(data=st.data(), score=st.one_of(st.just(-1), scores))
    def move_players_who_are_there(self, data: st.DataObject, score: int) -> None:
        if self.board:
            chosen = data.draw(st.sets(st.sampled_from(sorted(self.board)), max_size=10))
            self._apply(dict.fromkeys(chosen, score))

    def _apply(self, batch: dict[int, int]) -> None:
        self.index.apply(ints(batch), ints(batch.values()))
        self.board.update(batch)
        self.board = {player: score for player, score in self.board.items() if score >= 0}

    @rule()
    def start_merge(self) -> None:
        if self.merge is None:
            self.merge = self.index.start_merge()

    @rule()
    def run_merge(self) -> None:
        if self.merge is not None and self.merge.result is None:
            self.merge.run()

    @rule()
    def finish_merge(self) -> None:
        if self.merge is not None:
            self.run_merge()
            self.index.finish_merge(self.merge)
            self.merge = None

    @rule()
    def keep(self) -> None:
        self.kept = (self.index.snapshot(), self.board.copy())

    @invariant()
    def equals_the_oracle(self) -> None:
        assert_equal(self.index, self.board)
        assert_equal(*self.kept)


TestOrderMachine = OrderMachine.TestCase
TestOrderMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


@given(boards, changes, st.integers(0, 8), st.lists(st.integers(0, 90), max_size=20))
def test_windows_are_the_rows_around_each_rank(
    board: dict[int, int], batch: dict[int, int], radius: int, asked: list[int]
) -> None:
    index = index_of(board)
    index.apply(ints(batch), ints(batch.values()))
    rows = rows_of(index)
    ranks = [rank for rank in asked if rank <= len(rows)]
    windows = index.windows(ints(ranks), radius)
    assert windows.players.shape == windows.scores.shape == (len(ranks), 2 * radius + 1)
    for at, rank in enumerate(ranks):
        first, count = int(windows.first[at]), int(windows.count[at])
        got = list(zip(windows.players[at].tolist(), windows.scores[at].tolist(), strict=True))
        want = rows[max(rank - 1 - radius, 0) : rank + radius] if rank else []
        assert first == (max(rank - radius, 1) if rank else 0)
        assert got == want + [(0, -1)] * (2 * radius + 1 - count)


@given(boards, st.integers(1, 80), st.integers(0, 80))
def test_a_slice_ends_where_the_board_ends(board: dict[int, int], first: int, count: int) -> None:
    members, points = index_of(board).slice(first, count)
    assert (
        list(zip(members.tolist(), points.tolist(), strict=True))
        == in_order(board)[first - 1 : first - 1 + count]
    )


def test_a_slice_from_rank_0_is_refused() -> None:
    with pytest.raises(ValueError, match="ranks start at 1"):
        index_of({1: 1}).slice(0, 5)


@pytest.mark.parametrize("score", [-2, MAX_SCORE + 1])
def test_a_score_outside_53_bits_is_refused_and_changes_nothing(score: int) -> None:
    index = index_of({1: 1})
    with pytest.raises(ValueError, match="scores lie between"):
        index.apply(ints([2, 1]), ints([5, score]))
    assert_equal(index, {1: 1})


def test_a_player_named_twice_is_refused_and_changes_nothing() -> None:
    index = index_of({1: 1})
    with pytest.raises(ValueError, match="player 2 is named twice"):
        index.apply(ints([2, 1, 2]), ints([5, 6, 7]))
    assert_equal(index, {1: 1})
    with pytest.raises(ValueError, match="player 3 is named twice"):
        OrderedIndex.from_arrays(ints([3, 3]), ints([1, 2]))


def test_a_score_that_stays_does_not_grow_the_delta() -> None:
    board = {player: player for player in range(1000)}
    index = index_of(board)
    before = index.nbytes
    index.apply(ints(board), ints(board.values()))
    assert index.nbytes == before


def test_a_merge_is_due_when_enough_changed_and_only_while_none_is_under_way() -> None:
    index = index_of(dict.fromkeys(range(70_000), 1))
    assert not index.merge_is_due()
    index.apply(np.arange(70_000), np.full(70_000, 2))
    assert index.merge_is_due()
    merge = index.start_merge()
    assert not index.merge_is_due()
    with pytest.raises(RuntimeError, match="under way"):
        index.start_merge()
    with pytest.raises(RuntimeError, match="has not run"):
        index.finish_merge(merge)
    merge.run()
    index.finish_merge(merge)
    assert not index.merge_is_due()
    assert index.nbytes == 28 * 70_000
