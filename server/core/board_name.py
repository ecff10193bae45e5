"""A board's name in frames and addresses: `s12`, later also a window of it (`s12:d:2026-10-12`).

Owns: the text. Never does: know which seasons there are.
Neighbours: `live` and `web` parse what clients send.
"""

import re
from dataclasses import dataclass

from server.core.refusals import Refusal, shown
from server.core.season import MAX_SEASON_ID

_SEASON_BOARD = re.compile(r"s([1-9]\d{0,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class BoardName:
    """One board: its season, and the window (`d:2026-10-12`), None for the season's own board."""

    season_id: int
    window: str | None = None

    def __str__(self) -> str:
        return f"s{self.season_id}" if self.window is None else f"s{self.season_id}:{self.window}"


def parse_board(value: object) -> BoardName | Refusal:
    """Return the board that a text names, or the refusal `unknown_board`; a board has one name only."""
    match = _SEASON_BOARD.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[1]) > MAX_SEASON_ID:
        return Refusal(
            "unknown_board", f"{shown(value)} names no board; a season's board is s and its id, as in s12"
        )
    return BoardName(int(match[1]))
