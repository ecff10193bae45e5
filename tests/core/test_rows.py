"""The checksum that proves rows, and rows as frames carry them."""

from zlib import crc32

from hypothesis import given

from server.core.rows import Row, checksum, on_wire
from tests.core.boards import lists_of_rows


@given(lists_of_rows)
def test_the_checksum_is_that_of_the_rows_text(rows: list[Row]) -> None:
    text = "".join(f"{row.player},{row.points},{row.achieved_ms}\n" for row in rows)
    assert checksum(rows) == crc32(text.encode("ascii"))


def test_the_checksum_of_no_rows_is_zero() -> None:
    assert checksum([]) == 0


def test_the_checksum_of_a_known_board_never_changes() -> None:
    assert checksum([Row(42, 1518, 1791828191000), Row(-1, 0, -3093552000000)]) == 2910689607


def test_players_are_text_on_the_wire() -> None:
    """E1: JavaScript would lose the last digits of these."""
    assert on_wire(Row(9007199254740993, 7, 5)) == ("9007199254740993", 7, 5)
    assert on_wire(Row(-(2**63), 7, 5)) == ("-9223372036854775808", 7, 5)
