"""Where a board stands: its epoch, which names the board, and the version, which counts its changes.

Owns: the pair and its text `epoch-version`, as entity tags and the ids of server-sent events carry it.
Never does: compare versions of different epochs; they have no order.
Neighbours: every frame, answer and log line speaks of it.
"""

import re
from typing import NamedTuple

_TEXT = re.compile(r"([0-9a-f]{16})-(0|[1-9]\d{0,15})", re.ASCII)
_EPOCH = re.compile(r"[0-9a-f]{16}", re.ASCII)


class Position(NamedTuple):
    """Version `version` of the board whose epoch (16 hexadecimal digits) is `epoch`."""

    epoch: str
    version: int

    def __str__(self) -> str:
        return f"{self.epoch}-{self.version}"


def parse_position(text: str) -> Position | None:
    """Return the position of a text `epoch-version`, or None where it is none."""
    match = _TEXT.fullmatch(text)
    return Position(match[1], int(match[2])) if match else None


def position_of(epoch: object, version: object) -> Position | None:
    """Return the position of two values out of JSON, or None where they are none."""
    if type(epoch) is str and _EPOCH.fullmatch(epoch) and type(version) is int and 0 <= version < 2**53:
        return Position(epoch, version)
    return None
