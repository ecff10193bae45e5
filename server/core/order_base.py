"""The big, immutable level of a board's order: every player as of the last merge, best first.

Numpy arrays of 28 bytes a player: depth and id in the board's order, and, sorted by id, the id again with its
position. A depth is how far a score lies below the highest one possible, so that ascending depths are the
board's order and numpy's binary search works on them as they are. Never changed: changes are collected in a
`Delta`, and `merged` makes a new base of both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from server.core.codec import MAX_SCORE
from server.core.member_order import Int64s, UInt64s, tie_keys

if TYPE_CHECKING:
    from server.core.order_delta import Delta

Bools = npt.NDArray[np.bool_]

_BLOCK = 1 << 19  # rows: a millisecond of cumsum
ABSENT = MAX_SCORE + 1  # the depth of a player who is not on the board: that of score -1


def depths_of(scores: Int64s) -> Int64s:
    """Return scores as depths, and depths as scores: its own inverse. Score -1 (removed) is `ABSENT`."""
    return MAX_SCORE - scores


@dataclass(frozen=True, slots=True)
class Base:
    """All arrays are of the same length n and read-only by agreement."""

    depths: Int64s  # by position: ascending; equal ones by tie key
    players: Int64s  # by position
    ids: Int64s  # the same players, ascending
    positions: npt.NDArray[np.int32]  # the position of each of `ids`

    @classmethod
    def from_arrays(cls, players: Int64s, scores: Int64s) -> Base:
        """Sort n players with their scores, given in any order, none twice: 2 s for ten million."""
        depths = depths_of(scores)
        order = np.argsort(depths)
        depths, players = depths[order], players[order]
        _sort_ties(depths, players)
        positions = np.argsort(players)
        return cls(depths, players, players[positions], positions.astype(np.int32))

    def __len__(self) -> int:
        return len(self.players)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the arrays take."""
        return self.depths.nbytes + self.players.nbytes + self.ids.nbytes + self.positions.nbytes

    def find(self, players: Int64s) -> tuple[Int64s, Bools]:
        """Return the position of each player and whether it is here at all. Quickest when they ascend."""
        at, found = find_sorted(self.ids, players)
        if not len(self):
            return at, found
        return self.positions[at].astype(np.int64), found

    def slots(self, depths: Int64s, keys: UInt64s) -> Int64s:
        """Return how many rows of the base come before each of the given (depth, tie key)."""
        return search_order(self.depths, lambda at: tie_keys(self.players[at]), depths, keys)


def _sort_ties(depths: Int64s, players: Int64s) -> None:
    """Put players of equal depth into the order of their tie keys, in place."""
    tied = np.zeros(len(depths), np.bool_)
    equal = depths[1:] == depths[:-1]
    tied[1:] = equal
    tied[:-1] |= equal
    at = np.flatnonzero(tied)
    if at.size:
        members = players[at]
        players[at] = members[np.lexsort((tie_keys(members), depths[at]))]


def find_sorted(ids: Int64s, wanted: Int64s) -> tuple[Int64s, Bools]:
    """Return an index into the ascending `ids` for each wanted id, and whether it is that id there."""
    if not ids.size:
        return np.zeros(wanted.shape, np.int64), np.zeros(wanted.shape, np.bool_)
    at = np.minimum(ids.searchsorted(wanted), len(ids) - 1)
    return at, ids[at] == wanted


def search_order(
    depths: Int64s, key_at: Callable[[Int64s], UInt64s], wanted: Int64s, wanted_keys: UInt64s
) -> Int64s:
    """Return how many rows sort before each wanted (depth, tie key); `key_at` gives tie keys by index.

    Only rows of equal depth need keys: those are found by a binary search of all wanted rows at once.
    """
    low = depths.searchsorted(wanted, "left")
    if not depths.size:
        return low
    open_rows = np.flatnonzero(depths[np.minimum(low, len(depths) - 1)] == wanted)
    high = depths.searchsorted(wanted[open_rows], "right")
    while open_rows.size:
        middle = (low[open_rows] + high) >> 1
        before = key_at(middle) < wanted_keys[open_rows]
        low[open_rows] = np.where(before, middle + 1, low[open_rows])
        high = np.where(before, high, middle)
        unsettled = low[open_rows] < high
        open_rows, high = open_rows[unsettled], high[unsettled]
    return low


def merged(base: Base, delta: Delta) -> Base:
    """Return a new base with the delta in it; the inputs are left as they are."""
    return Base(*_merged_order(base, delta), *_merged_ids(base, delta))


def _merged_order(base: Base, delta: Delta) -> tuple[Int64s, Int64s]:
    """Return depths and players of the new base: the old rows that live, the delta's at their places."""
    lives = np.ones(len(base), np.bool_)
    lives[delta.dead] = False
    total = len(base) - len(delta.dead) + len(delta.depths)
    old = np.ones(total, np.bool_)
    old[delta.places] = False
    depths, players = np.empty(total, np.int64), np.empty(total, np.int64)
    depths[old], depths[delta.places] = base.depths[lives], delta.depths
    players[old], players[delta.places] = base.players[lives], delta.players
    return depths, players


def _merged_ids(base: Base, delta: Delta) -> tuple[Int64s, npt.NDArray[np.int32]]:
    """Return ids and positions of the new base. Where nobody came or went, the ids are the old array."""
    shift = np.zeros(len(base) + 1, np.int32)
    np.add.at(shift, delta.slots, 1)
    np.subtract.at(shift, delta.dead + 1, 1)
    _accumulate(shift)
    positions = base.positions + shift[base.positions]

    by_id = np.argsort(delta.players)
    places = delta.places[by_id].astype(np.int32)
    at, known = find_sorted(base.ids, delta.ids)
    positions[at[known]] = places[known]
    ids = base.ids
    leavers = _leavers(base, delta)
    if leavers.size:
        ids, positions = np.delete(ids, leavers), np.delete(positions, leavers)
    if not known.all():
        newcomers = delta.ids[~known]
        where = ids.searchsorted(newcomers)
        ids, positions = np.insert(ids, where, newcomers), np.insert(positions, where, places[~known])
    return ids, positions


def _accumulate(values: npt.NDArray[np.int32]) -> None:
    """Replace values by their running sums, in blocks: numpy's cumsum keeps all other threads waiting."""
    carry = np.int32(0)
    for start in range(0, len(values), _BLOCK):
        block = values[start : start + _BLOCK]
        np.cumsum(block, out=block)
        block += carry
        carry = block[-1]


def _leavers(base: Base, delta: Delta) -> Int64s:
    """Return the indexes into the base's ids of players who died there and have no row in the delta."""
    gone = np.sort(base.players[delta.dead])
    gone = gone[~find_sorted(delta.ids, gone)[1]]
    return find_sorted(base.ids, gone)[0]
