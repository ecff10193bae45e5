"""What the ordered index costs, in medians, at 1 and 10 million players: `python -m bench.order [SIZE …]`."""

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table

from server.core.codec import MAX_SCORE
from server.core.order import MERGE_AT, OrderedIndex

SIZES = (1_000_000, 10_000_000)


def milliseconds(work: Callable[[], object], times: int) -> float:
    """Return the median duration of `times` calls."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return median(taken) * 1000


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
        return milliseconds(lambda: self.index.apply(players, scores), 1)

    def changes(self, count: int, times: int) -> float:
        return median(self.change(count) for _ in range(times))

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
        return run, stall * 1000, milliseconds(lambda: self.index.finish_merge(merge), 1)


def measure(size: int) -> dict[str, str]:
    """Return one column of the table."""
    board = Board(size)
    index, random = board.index, board.random
    rows = {"build from unsorted arrays": f"{board.build_ms:,.0f} ms"}
    board.changes(2_000, MERGE_AT // 2 // 4_000)
    rows["200 changes, delta half full"] = f"{board.changes(200, 25):.2f} ms"
    rows["2,000 changes, delta half full"] = f"{board.changes(2_000, 5):.2f} ms"
    some = random.choice(board.players, 10_000)
    rows["ranks of 10,000 players"] = f"{milliseconds(lambda: index.ranks(some), 15):.1f} ms"
    ranks = index.ranks(some)
    rows["their windows of 11 rows"] = f"{milliseconds(lambda: index.windows(ranks, 5), 15):.1f} ms"
    one = iter(random.choice(board.players, 2_000).tolist())
    rows["rank of one player"] = f"{milliseconds(lambda: index.rank_of(next(one)), 2_000) * 1000:.1f} µs"
    rows["top 100"] = f"{milliseconds(lambda: index.slice(1, 100), 200) * 1000:.0f} µs"
    rows["bytes a player"] = f"{index.nbytes / index.total:.1f}"
    merges = [board.merge() for _ in range(3)]
    for name, values in zip(
        ("merge", "its longest stall", "taking over"), zip(*merges, strict=True), strict=True
    ):
        rows[name] = f"{median(values):,.1f} ms"
    return rows


def main(sizes: list[int]) -> None:
    columns = [measure(size) for size in sizes]
    table = Table("ordered index", *(f"{size:,} players" for size in sizes))
    for name in columns[0]:
        table.add_row(name, *(column[name] for column in columns))
    Console().print(table)


if __name__ == "__main__":
    main([int(text.replace(",", "")) for text in sys.argv[1:]] or list(SIZES))
