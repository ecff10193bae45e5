"""Positions and their text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.core.position import Position, parse_position, position_of

EPOCH = "5f0c6e1d2a3b4c5d"


@given(st.from_regex(r"[0-9a-f]{16}", fullmatch=True), st.integers(0, 2**53 - 1))
def test_the_text_of_a_position_names_it(epoch: str, version: int) -> None:
    position = Position(epoch, version)
    assert parse_position(str(position)) == position
    assert position_of(epoch, version) == position


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        EPOCH,
        f"{EPOCH}-",
        f"{EPOCH}-07",
        f"{EPOCH}-+7",
        f"{EPOCH.upper()}-7",
        f"{EPOCH}-7\n",
        f"{EPOCH}-\u0667",
    ],
)
def test_other_texts_are_no_position(text: str) -> None:
    assert parse_position(text) is None


@pytest.mark.parametrize(
    ("epoch", "version"),
    [
        (None, 7),
        (EPOCH, "7"),
        (EPOCH, 7.0),
        (EPOCH, True),
        (EPOCH, -1),
        (EPOCH, 2**53),
        (EPOCH[:15], 7),
        (7, 7),
    ],
)
def test_other_values_are_no_position(epoch: object, version: object) -> None:
    assert position_of(epoch, version) is None


@given(st.text())
def test_no_text_raises(text: str) -> None:
    parse_position(text)
