"""The small level of a board's order: what changed since the base was made.

Positions of the base that no longer count, and rows that came, each with its slot: how many rows of the
base come before it. Slots turn every question about ranks into searches of small integer arrays. Immutable:
`with_changes` returns a new delta, so that whoever holds an older one keeps a consistent picture at no
cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from server.core.member_order import Int64s, UInt64s, tie_keys
from server.core.order_base import ABSENT, Base, find_sorted, search_order

_NO_INTS = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Delta:
    """The rows that came are held twice: in the board's order, and by player."""

    dead: Int64s  # positions of the base, ascending
    depths: Int64s  # rows in the board's order, as in the base
    keys: UInt64s  # their tie keys
    players: Int64s
    slots: Int64s  # rows of the base, living or dead, that come before
    ids: Int64s  # the rows' players, ascending
    id_depths: Int64s  # the depth of each of `ids`

    @classmethod
    def empty(cls) -> Delta:
        """Return the delta of a base that nothing has changed."""
        none = _NO_INTS
        return cls(none, none, none.view(np.uint64), none, none, none, none)

    @property
    def size(self) -> int:
        """How much a merge would take in: dead positions and rows."""
        return len(self.dead) + len(self.depths)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the arrays take."""
        rows = self.depths.nbytes + self.keys.nbytes + self.players.nbytes + self.slots.nbytes
        return self.dead.nbytes + rows + self.ids.nbytes + self.id_depths.nbytes

    @cached_property
    def places(self) -> Int64s:
        """The place of each row in the whole order, counted from 0."""
        return self.slots - self.dead.searchsorted(self.slots) + np.arange(len(self.slots))

    @cached_property
    def lived_before(self) -> Int64s:
        """For each dead position, how many living rows of the base come before it."""
        return self.dead - np.arange(len(self.dead))

    def is_dead(self, positions: Int64s) -> npt.NDArray[np.bool_]:
        """Tell which positions of the base no longer count."""
        return find_sorted(self.dead, positions)[1]

    def rows_of(self, depths: Int64s, keys: UInt64s) -> Int64s:
        """Return the index of the first row that does not sort before each (depth, tie key)."""
        return search_order(self.depths, self.keys.__getitem__, depths, keys)

    def with_changes(self, base: Base, players: Int64s, depths: Int64s) -> Delta:
        """Return the delta after each player, given in ascending order, got a depth (`ABSENT`: removed)."""
        positions, in_base = base.find(players)
        in_base &= ~self.is_dead(positions)
        at, in_rows = find_sorted(self.ids, players)
        before = np.full(len(players), ABSENT, np.int64)
        before[in_base] = base.depths[positions[in_base]]
        before[in_rows] = self.id_depths[at[in_rows]]

        moved = before != depths
        dies, drops, comes = moved & in_base, moved & in_rows, moved & (depths != ABSENT)
        dead = np.sort(positions[dies])
        keys = tie_keys(players)
        leaving = np.sort(self.rows_of(before[drops], keys[drops]))
        new = players[comes]
        return Delta(
            *_spliced((self.dead,), _NO_INTS, (dead,), self.dead.searchsorted(dead)),
            *self._spliced_rows(base, leaving, depths[comes], keys[comes], new),
            *_spliced(
                (self.ids, self.id_depths), at[drops], (new, depths[comes]), self.ids.searchsorted(new)
            ),
        )

    def _spliced_rows(
        self, base: Base, leaving: Int64s, depths: Int64s, keys: UInt64s, players: Int64s
    ) -> list[npt.NDArray[Any]]:
        order = np.lexsort((keys, depths))
        depths, keys, players = depths[order], keys[order], players[order]
        rows = (depths, keys, players, base.slots(depths, keys))
        old = (self.depths, self.keys, self.players, self.slots)
        return _spliced(old, leaving, rows, self.rows_of(depths, keys))


def _spliced(
    olds: tuple[npt.NDArray[Any], ...], leaving: Int64s, news: tuple[npt.NDArray[Any], ...], before: Int64s
) -> list[npt.NDArray[Any]]:
    """Return each old array without the indexes `leaving` (ascending), with the new values at their places.

    `before` (ascending) are the indexes into the old array in front of which the new values go.
    """
    count, added = len(olds[0]), len(before)
    if not added and not leaving.size:
        return list(olds)
    places = before - leaving.searchsorted(before) + np.arange(added)
    source = np.empty(count - len(leaving) + added, np.int64)
    stays, kept = np.ones(count, np.bool_), np.ones(len(source), np.bool_)
    stays[leaving], kept[places] = False, False
    source[kept] = np.flatnonzero(stays)
    source[places] = np.arange(count, count + added)
    return [np.concatenate(pair)[source] for pair in zip(olds, news, strict=True)]
