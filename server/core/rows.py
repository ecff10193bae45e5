"""A row of a board, the text that proves rows, and how rows stand in frames.

Owns: `Row`, its form in frames, and the checksum over rows.
Never does: know ranks of its own; a list of rows is in order, and its reader knows the first row's rank.
Neighbours: the mirror makes rows, `diff` compares them, the hub puts them into frames.
"""

from collections.abc import Iterable
from typing import NamedTuple
from zlib import crc32


class Row(NamedTuple):
    """One player's row: the id, points, and the time the board tells (Unix ms, the tick's start)."""

    player: int
    points: int
    achieved_ms: int


def checksum(rows: Iterable[Row]) -> int:
    """CRC-32 (as in zlib, unsigned) of the rows' text `player,points,achieved_at\\n`; of no rows: 0."""
    return crc32("".join([f"{row[0]},{row[1]},{row[2]}\n" for row in rows]).encode())


def on_wire(row: Row) -> tuple[str, int, int]:
    """The row as frames carry it: the player as text, since JavaScript loses digits above 2^53."""
    return str(row[0]), row[1], row[2]
