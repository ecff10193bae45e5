"""Pages of a board that moved while it was read become one order."""

import numpy as np

from server.core.member_order import Int64s
from server.live.mirror_load import index_of_pages


def page(rows: dict[int, int]) -> tuple[Int64s, Int64s]:
    return np.array([*rows], np.int64), np.array([*rows.values()], np.int64)


def test_of_a_player_who_was_read_twice_the_later_score_counts() -> None:
    players, scores = index_of_pages([page({1: 5, 2: 5}), page({2: 3, 3: 9}), page({1: 0})]).slice(1, 9)
    assert dict(zip(players.tolist(), scores.tolist(), strict=True)) == {1: 0, 2: 3, 3: 9}


def test_an_empty_board_has_one_empty_page() -> None:
    assert index_of_pages([page({})]).total == 0
