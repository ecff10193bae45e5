"""What the ordered index costs at 1 and 10 million players, in this process alone.

Owns random boards and the calls that are timed. Neighbour: `server/core/order.py` is what is measured.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np

from bench.report import Say, Table, spread
from server.core.codec import MAX_SCORE
from server.core.order import MERGE_AT, OrderedIndex

SIZES = (1_000_000, 10_000_000)


def milliseconds(work: Callable[[], object], times: int) -> list[float]:
    """Return how long each of `times` calls took."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append((time.perf_counter() - start) * 1000)
    return taken


@dataclass
class Board:
    """An index of random players with random scores, and the random changes that are made to it."""

    size: int

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(7)
        self.players = np.unique(self.random.integers(-(2**63), 2**63 - 1, self.size))
        scores = self.random.integers(0, MAX_SCORE, len(self.players))
        self.shuffled = self.random.permutation(len(self.players))
        start = time.perf_counter()
        self.index = OrderedIndex.from_arrays(self.players[self.shuffled], scores)
        self.build_ms = (time.perf_counter() - start) * 1000

    def change(self, count: int) -> float:
        """Apply new scores of `count` players and return the milliseconds that this alone took."""
        players = np.unique(self.random.choice(self.players, count))
        scores = self.random.integers(0, MAX_SCORE, len(players))
        return milliseconds(lambda: self.index.apply(players, scores), 1)[0]

    def changes(self, count: int, times: int) -> list[float]:
        return [self.change(count) for _ in range(times)]

    def merge(self) -> tuple[float, float, float]:
        """Fill the delta and merge it in a thread, with 200 changes every 20 ms beside it.

        Returns milliseconds: of the run, of the longest stall of this thread, and of taking over the result.
        """
        while not self.index.merge_is_due():
            self.change(2_000)
        merge = self.index.start_merge()
        thread = threading.Thread(target=merge.run)
        start = last = time.perf_counter()
        thread.start()
        stall, next_change = 0.0, start
        while thread.is_alive():
            now = time.perf_counter()
            stall, last = max(stall, now - last), now
            if now > next_change:
                self.change(200)
                next_change = last = time.perf_counter()
                next_change += 0.02
            time.sleep(0.0002)
        run = (time.perf_counter() - start) * 1000
        return run, stall * 1000, milliseconds(lambda: self.index.finish_merge(merge), 1)[0]


def measure(size: int) -> dict[str, str]:
    """Return one column of the table."""
    board = Board(size)
    index, random = board.index, board.random
    rows = {"build from unsorted arrays": spread([board.build_ms], " ms")}
    board.changes(2_000, MERGE_AT // 2 // 4_000)
    rows["200 changes, delta half full"] = spread(board.changes(200, 25), " ms", 2)
    rows["2,000 changes, delta half full"] = spread(board.changes(2_000, 5), " ms", 2)
    some = random.choice(board.players, 10_000)
    rows["ranks of 10,000 players"] = spread(milliseconds(lambda: index.ranks(some), 15), " ms", 1)
    ranks = index.ranks(some)
    rows["their windows of 11 rows"] = spread(milliseconds(lambda: index.windows(ranks, 5), 15), " ms", 1)
    one = iter(random.choice(board.players, 2_000).tolist())
    rows["rank of one player"] = _microseconds(milliseconds(lambda: index.rank_of(next(one)), 2_000))
    rows["top 100"] = _microseconds(milliseconds(lambda: index.slice(1, 100), 200))
    rows["bytes a player"] = f"{index.nbytes / index.total:.1f}"
    merges = [board.merge() for _ in range(3)]
    for name, values in zip(
        ("merge in a thread", "its longest stall", "taking over"), zip(*merges, strict=True), strict=True
    ):
        rows[name] = spread(values, " ms", 1)
    return rows


def _microseconds(taken_ms: list[float]) -> str:
    """The median; of thousands of calls the longest one tells of the machine, not of the index."""
    return f"{median(taken_ms) * 1000:.1f} µs"


def run(quick: bool, say: Say) -> list[Table]:
    """Measure one million players and, unless `quick`, ten."""
    columns = {}
    for size in SIZES[:1] if quick else SIZES:
        say(f"{size:,} players")
        columns[f"{size:,} players"] = measure(size)
    table = Table("The order of a board in memory", ("", *columns))
    for name in next(iter(columns.values())):
        table.add(name, *(column[name] for column in columns.values()))
    return [table]
