"""What the hub needs of a board's replica, and of whoever opens replicas.

Owns these two protocols, nothing else. Neighbours: `mirror` and `mirrors` are the real ones.
"""

from collections.abc import Callable
from typing import Protocol

from server.core.order import OrderedIndex
from server.core.replica import Changes
from server.core.rows import Row
from server.core.season import Season


class Picture(Protocol):
    """One board as this process sees it; read and changed in the event loop alone."""

    board: str
    season: Season
    stale: tuple[str, int] | None

    @property
    def epoch(self) -> str | None:
        """None: the board is still being made; it is empty."""

    @property
    def version(self) -> int:
        """The version that the order shows."""

    @property
    def reason(self) -> str:
        """Why the epoch began: replaced, reset, closed or rolled."""

    @property
    def index(self) -> OrderedIndex:
        """The order."""

    @property
    def total(self) -> int:
        """The number of ranked players."""

    def rows(self, first_rank: int, count: int) -> list[Row]:
        """The rows from a rank on."""

    def take_changes(self) -> Changes | None:
        """Who was touched since the last call; None where that cannot be told."""

    def add_listener(self, listener: Callable[[], None]) -> None:
        """Have the listener called after every change."""


class Pictures(Protocol):
    """Opens boards."""

    async def open(self, board: str) -> Picture:
        """The board's picture once there is one; RankcastError `unknown_board` or `not_ready`."""
