"""Board names: one text a board."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.core.board_name import BoardName, parse_board
from server.core.refusals import Refusal


@given(st.integers(1, 2**31 - 1))
def test_a_seasons_board_is_s_and_its_id(season_id: int) -> None:
    assert parse_board(f"s{season_id}") == BoardName(season_id)
    assert str(BoardName(season_id)) == f"s{season_id}"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "s",
        "12",
        "S12",
        "s012",
        "s0",
        "s-1",
        "s12 ",
        "s12\n",
        "s2147483648",
        "s99999999999",
        "s\u0661",
        None,
        12,
        *["s12:d:2026-10-12", "s12:w:current", "s12:", "{s12}", "s12/top", "\ud800"],
    ],
)
def test_any_other_text_names_no_board(value: object) -> None:
    refusal = parse_board(value)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "unknown_board"
