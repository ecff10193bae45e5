"""Pages of a board: what our scripts wrote is read at once, what a hand wrote is set apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.core.board_page import Alien, page_of_rows, page_of_texts

ROWS = st.dictionaries(st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**53 - 1), max_size=20)


@given(ROWS)
def test_both_ways_of_reading_agree_on_what_scripts_write(rows: dict[int, int]) -> None:
    quick = page_of_texts(" ".join(map(str, rows)), " ".join(map(str, rows.values())))
    singly = page_of_rows([(b"%d" % player, b"%d" % score) for player, score in rows.items()])
    assert quick is not None
    assert quick.players.tolist() == singly.players.tolist() == list(rows)
    assert quick.scores.tolist() == singly.scores.tolist() == list(rows.values())
    assert quick.aliens == singly.aliens == []


@pytest.mark.parametrize(
    ("member", "score"),
    [
        (b"007", b"5"),
        (b"+7", b"5"),
        (b"two words", b"5"),
        (b"", b"5"),
        (b"\xff", b"5"),
        (b"9223372036854775808", b"5"),
        (b"7", b"1.5"),
        (b"7", b"-1"),
        (b"7", b"inf"),
        (b"7", b"9007199254740992"),
    ],
)
def test_what_cannot_be_a_row_is_set_apart(member: bytes, score: bytes) -> None:
    texts = [part.decode("utf-8", "replace") for part in (b"1 " + member, b"3 " + score)]
    assert page_of_texts(*texts) is None
    page = page_of_rows([(b"1", b"3"), (member, score)])
    assert (page.players.tolist(), page.scores.tolist()) == ([1], [3])
    assert page.players.dtype == np.int64
    shown = member.decode("utf-8", "backslashreplace")
    assert page.aliens == [Alien(shown, score.decode(), member)]


def test_large_scores_are_read_exactly_however_a_server_writes_them() -> None:
    page = page_of_texts("1 2", "9007199254740991 9.007199254740991e+15")
    assert page is not None
    assert page.scores.tolist() == [2**53 - 1, 2**53 - 1]
