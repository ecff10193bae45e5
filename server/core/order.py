"""The whole order of one board: ranks, neighbours and pages of any of its players, in numpy arrays.

Total order: score descending, then the bytes of the player id's decimal text descending, as ZREVRANGE gives
it; ranks start at 1. Two levels: an immutable sorted `Base` and a small immutable `Delta` of what changed
since, which a merge turns into a new base. Pure: no thread, clock or I/O; the mirror applies the board's
changes and runs merges in a thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from server.core.codec import MAX_SCORE
from server.core.member_order import Int64s, tie_keys
from server.core.order_base import ABSENT, Base, depths_of, find_sorted, merged
from server.core.order_delta import Delta

# Dead positions and rows in the delta: beyond that a change costs more than its share of a merge.
MERGE_AT = 65_536


@dataclass(frozen=True, slots=True)
class Windows:
    """The rows around k ranks, in 2 * radius + 1 columns; a window ends where the board ends."""

    first: Int64s  # [k] the rank of the first row (0: the rank asked for was 0, no rows)
    count: Int64s  # [k] rows of each window
    players: Int64s  # [k, columns] 0 beyond count
    scores: Int64s  # [k, columns] -1 beyond count


class Merge:
    """A merge under way: `run()` may be called in a thread while the index goes on being read and changed."""

    def __init__(self, base: Base, delta: Delta) -> None:
        self._base, self._delta = base, delta
        self.changes: list[tuple[Int64s, Int64s]] = []  # since the start, one item a batch
        self.result: tuple[Base, Delta] | None = None
        self.taken_over = 0  # how many of `changes` are in the result

    def run(self) -> None:
        """Make the new base, nearly all of it in numpy loops that let other threads run."""
        base, delta = merged(self._base, self._delta), Delta.empty()
        self.taken_over = len(self.changes)
        self.result = base, _with_batches(base, delta, self.changes[: self.taken_over])


class OrderedIndex:
    """A board's order. Reads and `apply` belong to one thread; a `snapshot()` is an index of its own."""

    def __init__(self) -> None:
        self._base = Base.from_arrays(np.zeros(0, np.int64), np.zeros(0, np.int64))
        self._delta = Delta.empty()
        self._merge: Merge | None = None

    @classmethod
    def from_arrays(cls, players: Int64s, scores: Int64s) -> OrderedIndex:
        """Make the index of n players with scores (both int64[n], scores 0 … 2^53 - 1), in any order.

        Raises ValueError for a score out of range and for a player named twice.
        """
        index = cls()
        _check(scores, lowest=0)
        index._base = Base.from_arrays(players, scores)
        _check_distinct(index._base.ids)
        return index

    def snapshot(self) -> OrderedIndex:
        """Return this order as it is now, at no cost: the arrays are shared and never changed."""
        copy = OrderedIndex()
        copy._base, copy._delta = self._base, self._delta
        return copy

    # -- changes

    def apply(self, players: Int64s, scores: Int64s) -> None:
        """Set the scores of k players (both int64[k], scores -1: removed); those who are new come in.

        Raises ValueError, with nothing changed, for a score out of range and for a player named twice.
        """
        _check(scores, lowest=-1)
        order = np.argsort(players)
        players, scores = players[order], scores[order]
        _check_distinct(players)
        self._delta = self._delta.with_changes(self._base, players, depths_of(scores))
        if self._merge is not None:
            self._merge.changes.append((players, scores))

    def merge_is_due(self) -> bool:
        """Whether the delta has grown so large that a merge pays, and none is under way."""
        return self._merge is None and self._delta.size >= MERGE_AT

    def start_merge(self) -> Merge:
        """Begin a merge of what is in the index now. At most one at a time."""
        if self._merge is not None:
            raise RuntimeError("a merge is under way already: finish it first")
        self._merge = Merge(self._base, self._delta)
        return self._merge

    def finish_merge(self, merge: Merge) -> None:
        """Take over the base of a merge that has run, then what changed meanwhile."""
        if merge is not self._merge or merge.result is None:
            raise RuntimeError("not the merge of this index that is under way, or it has not run")
        self._merge = None
        base, delta = merge.result
        self._base, self._delta = base, _with_batches(base, delta, merge.changes[merge.taken_over :])

    # -- one player

    def score_of(self, player: int) -> int | None:
        """Return the player's score, or None when unranked."""
        found = self._locate(player)
        return None if found is None else MAX_SCORE - found[0]

    def rank_of(self, player: int) -> int | None:
        """Return the player's rank, or None when unranked."""
        found = self._locate(player)
        return None if found is None else found[1]

    def _locate(self, player: int) -> tuple[int, int] | None:
        """Return the depth and rank of one player: the same as `ranks`, at a quarter of its cost for one."""
        base, delta = self._base, self._delta
        at = int(delta.ids.searchsorted(player))
        if at < len(delta.ids) and delta.ids[at] == player:
            depth = delta.id_depths[at]
            row, end = (int(delta.depths.searchsorted(depth, side)) for side in ("left", "right"))
            row += int(np.argmax(delta.players[row:end] == player))
            return int(depth), int(delta.places[row]) + 1
        at = int(base.ids.searchsorted(player))
        if at == len(base) or base.ids[at] != player:
            return None
        position = int(base.positions[at])
        dead = int(delta.dead.searchsorted(position))
        if dead < len(delta.dead) and delta.dead[dead] == position:
            return None
        before = int(delta.slots.searchsorted(position, "right"))
        return int(base.depths[position]), position - dead + before + 1

    # -- many players

    @property
    def total(self) -> int:
        """The number of ranked players."""
        return len(self._base) - len(self._delta.dead) + len(self._delta.depths)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the arrays take."""
        return self._base.nbytes + self._delta.nbytes

    def ranks(self, players: Int64s) -> Int64s:
        """Return the ranks of k players, in any order, even repeated: int64[k], 0 for the unranked."""
        return self._scores_and_ranks(players)[1]

    def scores(self, players: Int64s) -> Int64s:
        """Return the scores of k players: int64[k], -1 for the unranked."""
        return self._scores_and_ranks(players)[0]

    def _scores_and_ranks(self, players: Int64s) -> tuple[Int64s, Int64s]:
        base, delta = self._base, self._delta
        order = np.argsort(players)  # ascending searches find their way in the cache
        wanted = players[order]
        depths, ranks = np.full(len(players), ABSENT, np.int64), np.zeros(len(players), np.int64)

        positions, found = base.find(wanted)
        found &= ~delta.is_dead(positions)
        alive, into = positions[found], order[found]
        depths[into] = base.depths[alive]
        ranks[into] = alive - delta.dead.searchsorted(alive) + delta.slots.searchsorted(alive, "right") + 1

        at, found = find_sorted(delta.ids, wanted)
        into = order[found]
        depths[into] = delta.id_depths[at[found]]
        ranks[into] = delta.places[delta.rows_of(depths[into], tie_keys(wanted[found]))] + 1
        return depths_of(depths), ranks

    def slice(self, first_rank: int, count: int) -> tuple[Int64s, Int64s]:
        """Return players and scores from `first_rank` on: `count` of them or as many as there are.

        Raises ValueError for a rank below 1.
        """
        if first_rank < 1:
            raise ValueError(f"ranks start at 1, not at {first_rank}")
        end = min(first_rank - 1 + count, self.total)
        return self._rows_at(np.arange(first_rank - 1, max(end, first_rank - 1)))

    def windows(self, ranks: Int64s, radius: int) -> Windows:
        """Return the rows around each of k ranks, `radius` up and down; rank 0, the unranked: none."""
        first = np.where(ranks > 0, np.maximum(ranks - radius, 1), 0)
        count = np.where(ranks > 0, np.minimum(ranks + radius, self.total) - first + 1, 0)
        columns = np.arange(2 * radius + 1)
        inside = columns < count[:, None]
        players, scores = np.zeros(inside.shape, np.int64), np.full(inside.shape, -1, np.int64)
        players[inside], scores[inside] = self._rows_at((first[:, None] - 1 + columns)[inside])
        return Windows(first, count, players, scores)

    def _rows_at(self, places: Int64s) -> tuple[Int64s, Int64s]:
        """Return players and scores at places counted from 0, all of them on the board."""
        base, delta = self._base, self._delta
        rows, is_row = find_sorted(delta.places, places)
        lived = places - delta.places.searchsorted(places)
        positions = lived + delta.lived_before.searchsorted(lived, "right")
        in_base = positions[~is_row]
        players, depths = np.empty(len(places), np.int64), np.empty(len(places), np.int64)
        players[~is_row], depths[~is_row] = base.players[in_base], base.depths[in_base]
        players[is_row], depths[is_row] = delta.players[rows[is_row]], delta.depths[rows[is_row]]
        return players, depths_of(depths)


def _check(scores: Int64s, lowest: int) -> None:
    if scores.size and (scores.min() < lowest or scores.max() > MAX_SCORE):
        raise ValueError(f"scores lie between {lowest} and {MAX_SCORE}: {scores.min()} … {scores.max()}")


def _check_distinct(ids: Int64s) -> None:
    twice = ids[1:][ids[1:] == ids[:-1]]
    if twice.size:
        raise ValueError(f"player {twice[0]} is named twice")


def _with_batches(base: Base, delta: Delta, batches: list[tuple[Int64s, Int64s]]) -> Delta:
    """Return the delta after batches of changes, given in order: each player gets the last score named."""
    if not batches:
        return delta
    players = np.concatenate([batch[0] for batch in reversed(batches)])
    scores = np.concatenate([batch[1] for batch in reversed(batches)])
    players, first = np.unique(players, return_index=True)
    return delta.with_changes(base, players, depths_of(scores[first]))
