"""Two orders of one board held against each other, player by player and rank by rank, in bounded memory.

One side is an index that is held whole (Redis), the other comes piece by piece (SQL), in the board's order or
in any. Owns what counts as a difference. Pure: never knows where the sides come from, or what to do about it.
Memory: a byte a player, and 24 bytes a difference. Neighbours: `keeper/audit.py` and `keeper/reconcile.py`.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from server.core.member_order import Int64s
from server.core.order import OrderedIndex

ABSENT = -1
_BLOCK = 1 << 16


class Differences(NamedTuple):
    """Players whose scores differ, none twice: three arrays int64[k]; score -1: not on that side."""

    players: Int64s
    held: Int64s
    streamed: Int64s


class Comparison:
    """Takes all of the streamed side, then tells what differs. A player may be streamed once only."""

    def __init__(self, held: OrderedIndex) -> None:
        self._held = held
        self._seen = np.zeros(held.total, np.bool_)
        self._found: list[Differences] = []
        self._last_rank = 0
        self.streamed = 0
        self.misplaced: list[int] = []

    def take(self, players: Int64s, scores: Int64s, *, in_order: bool = False) -> None:
        """Take the next k players with their scores (both int64[k], scores from 0).

        With `in_order` they are the next rows of the streamed side's own order: a player who has the same
        score on both sides, but comes before somebody there whom he comes after here, goes to `misplaced`.
        """
        self.streamed += len(players)
        held, ranks = self._held.scores(players), self._held.ranks(players)
        known = ranks > 0
        self._seen[ranks[known] - 1] = True
        differs = held != scores
        if differs.any():
            self._found.append(Differences(players[differs], held[differs], scores[differs]))
        if in_order:
            self._check_order(players[~differs], ranks[~differs])

    def _check_order(self, players: Int64s, ranks: Int64s) -> None:
        """Ranks of equal rows have to rise; rows that differ shift others, but never swap two of them."""
        if not len(ranks):
            return
        before = np.concatenate((np.array([self._last_rank], np.int64), ranks[:-1]))
        self.misplaced += players[ranks < before].tolist()
        self._last_rank = int(ranks[-1])

    def differences(self) -> Differences:
        """Every player who differs, once all have been taken: those held alone come last, best first."""
        parts = [*self._found, *self._alone()]
        empty = Differences(*[np.zeros(0, np.int64)] * 3)
        return Differences(*(np.concatenate(columns) for columns in zip(empty, *parts, strict=True)))

    def _alone(self) -> Iterator[Differences]:
        """Those who were not streamed."""
        for start in range(0, len(self._seen), _BLOCK):
            unseen = ~self._seen[start : start + _BLOCK]
            if unseen.any():
                players, scores = self._held.slice(start + 1, _BLOCK)
                absent = np.full(int(unseen.sum()), ABSENT, np.int64)
                yield Differences(players[unseen], scores[unseen], absent)
