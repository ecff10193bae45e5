"""What changed between two lists of rows, as few rows as can tell it, and the law that puts it back together.

Owns: `difference` and `apply`; for any two lists `apply(before, difference(before, after)) == after`.
Never does: know boards, versions or frames.
Neighbours: the hub makes one difference a view and from-version; every client applies it as `apply` does.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from server.core.rows import Row


class Placed(NamedTuple):
    """A row and its rank in the view, from 1."""

    rank: int
    row: Row


class Diff(NamedTuple):
    """`gone`: players who left; `put`: who entered, changed or cannot keep their order, by rank."""

    gone: list[int]
    put: list[Placed]


def difference(before: Sequence[Row], after: Sequence[Row]) -> Diff:
    """Return the smallest diff from one list to the other; a player stands in a list at most once."""
    stays = {row[0] for row in after}
    places = {row: place for place, row in enumerate(before)}
    put: list[Placed] = []
    same: list[Placed] = []
    origins: list[int] = []
    for placed in map(Placed._make, enumerate(after, 1)):
        place = places.get(placed.row)
        if place is None:
            put.append(placed)
        else:
            same.append(placed)
            origins.append(place)
    keep = longest_rise(origins)
    if len(keep) < len(same):
        kept = set(keep)
        put = sorted(put + [placed for index, placed in enumerate(same) if index not in kept])
    return Diff([row[0] for row in before if row[0] not in stays], put)


def apply(before: Sequence[Row], diff: Diff) -> list[Row]:
    """Return the rows after a diff: without `gone`, and with `put` at their ranks, one after another."""
    out = {placed.row.player for placed in diff.put}.union(diff.gone)
    rows = [row for row in before if row.player not in out]
    for rank, row in diff.put:
        rows.insert(rank - 1, row)
    return rows


def longest_rise(numbers: Sequence[int]) -> Sequence[int]:
    """Return the indices of one longest strictly rising subsequence; of distinct numbers, in n log n."""
    if all(map(int.__lt__, numbers, numbers[1:])):
        return range(len(numbers))
    ends: list[int] = []  # the least number that ends a rise of each length,
    indices: list[int] = []  # its index,
    before: list[int] = []  # and for every index the one before it in its rise
    for index, number in enumerate(numbers):
        length = bisect_left(ends, number)
        before.append(indices[length - 1] if length else -1)
        ends[length : length + 1] = [number]
        indices[length : length + 1] = [index]
    rise = [indices[-1]]
    while before[rise[-1]] >= 0:
        rise.append(before[rise[-1]])
    return rise[::-1]
