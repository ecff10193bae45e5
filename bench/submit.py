"""What a result costs in Redis, beside the naive ways, and what loading does: `python -m bench.submit`.

`run` is what `make bench` calls.
"""

import asyncio
import random
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from redis.asyncio import Redis

from bench.report import Say, Table, progress, spread
from server.board.batch import SubmitBatch
from server.board.connection import connect
from server.board.keys import BoardKeys
from server.board.position import Applied, new_epoch
from server.board.store import BoardStore
from server.core.results import Result
from server.core.season import Operator, Season
from server.embedded.valkey import Valkey
from server.metrics import Metrics
from server.settings import Settings

SIZES, QUICK_SIZES = (1_000, 1_000_000), (1_000, 100_000)
BATCH, ROUNDS = 500, 5
MOST_POINTS = 2_000
LOG = 1

Send = Callable[[Sequence[SubmitBatch]], Awaitable[object]]


def season(operator: Operator) -> Season:
    """A season of today."""
    day = time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime())
    ends = time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime(time.time() + 30 * 86_400))
    definition = {"season_id": 1, "name": "bench", "starts_at": day, "ends_at": ends, "operator": operator}
    return Season.parse(definition, 0)


@dataclass
class Bench:
    """One board of `size` players, and results of random ones of them."""

    redis: Redis
    season: Season
    size: int
    next_offset: int = 0

    def __post_init__(self) -> None:
        self.boards = BoardStore(self.redis, Settings(), Metrics())

    async def load(self) -> tuple[float, float]:
        """Make the board as a rebuild does; return players a second, and milliseconds of the longest call."""
        await self.redis.flushall()
        await self.redis.config_set("slowlog-log-slower-than", "500")
        await self.redis.slowlog_reset()
        keys, encode, start = BoardKeys(1, new_epoch()), self.season.codec.encode, time.perf_counter()
        rebuilds, chunks = self.boards.rebuilds, range(0, self.size, Settings().rebuild_chunk)
        await rebuilds.begin(keys, self.season)
        for number, first in enumerate(chunks):
            players = range(first, min(first + chunks.step, self.size))
            await rebuilds.load(keys, number, [(encode(*self.feat()), player) for player in players])
        await rebuilds.finish(keys, len(chunks), Applied(LOG, {0: 0}))
        await rebuilds.swap(keys)
        seconds = time.perf_counter() - start
        await self.redis.hset(BoardKeys(1).meta, "asking", "0")
        calls = await self.redis.slowlog_get(1000)
        return self.size / seconds, max((call["duration"] for call in calls), default=500) / 1000

    def feat(self, most: int = MOST_POINTS) -> tuple[int, int]:
        """Random points, and an instant of the last minute."""
        return random.randrange(most), time.time_ns() // 1000 - random.randrange(60_000_000)

    def batch(self, count: int, *, records: bool) -> SubmitBatch:
        """Results of random players; `records`: each of them changes the board."""
        start, self.next_offset = self.next_offset, self.next_offset + count
        higher = MOST_POINTS * (1 + self.next_offset // 10_000) if self.season.operator == "best" else 1
        results = []
        for _ in range(count):
            points, achieved_us = self.feat()
            points = points + higher if records else 0
            results.append(Result(str(uuid.uuid4()), random.randrange(self.size), 1, points, achieved_us))
        return SubmitBatch(self.season, LOG, 0, start, start + count, range(start, start + count), results)

    async def in_redis(self, *, records: bool) -> list[float]:
        """Microseconds of Redis's processor time for a result, in batches of 500."""
        taken = []
        for _ in range(ROUNDS):
            batches = [self.batch(BATCH, records=records) for _ in range(4)]
            before = await self.cpu_us()
            await self.boards.submit_many(batches)
            taken.append((await self.cpu_us() - before) / (4 * BATCH))
        return taken

    async def cpu_us(self) -> float:
        """Microseconds of processor time that the server has used: what others do beside it counts little."""
        used = await self.redis.info("cpu")
        return float(used["used_cpu_user"] + used["used_cpu_sys"]) * 1e6

    async def in_all(self, send: Send, size: int) -> list[float]:
        """Microseconds of everything for a result: made into a call, sent, applied, answered."""
        taken = []
        for _ in range(ROUNDS):
            batches = [self.batch(size, records=True) for _ in range(1000 // size)]
            start = time.perf_counter()
            await send(batches)
            taken.append((time.perf_counter() - start) * 1000)
        return taken

    async def loop(self, batches: Sequence[SubmitBatch]) -> None:
        """One call after another."""
        for batch in batches:
            await self.boards.submit(batch)


async def measure(redis: Redis, operator: Operator, size: int, table: Table) -> None:
    """One board's rows."""
    bench, name = Bench(redis, season(operator), size), f"`{operator}`, {size:,} players"
    loaded, longest_ms = await bench.load()
    table.add(f"{name}: Redis alone, a new record", spread(await bench.in_redis(records=True), " us", 1))
    table.add(f"{name}: Redis alone, no record", spread(await bench.in_redis(records=False), " us", 1))
    for way, send, count in (
        ("in calls of 500", bench.boards.submit_many, BATCH),
        ("a call each, pipelined", bench.boards.submit_many, 1),
        ("a call each, in a loop", bench.loop, 1),
    ):
        table.add(f"{name}: all in all, {way}", spread(await bench.in_all(send, count), " us", 1))
    table.add(f"{name}: loaded as by a rebuild", f"{loaded:,.0f} players/s, longest call {longest_ms:.1f} ms")


async def measured(sizes: Sequence[int], say: Say) -> Table:
    """Run the benchmark on a server of its own."""
    table = Table("The submit script, a result")
    with tempfile.TemporaryDirectory(prefix="rankcast-bench-") as folder:
        server = Valkey(Path(folder), "bench", durable=False)
        await server.start()
        try:
            async with connect(server.address) as redis:
                operators: tuple[Operator, ...] = ("best", "sum")
                for size in sizes:
                    for operator in operators:
                        say(f"{operator}, {size:,} players")
                        await measure(redis, operator, size, table)
        finally:
            await server.stop()
    return table


def run(quick: bool, say: Say) -> list[Table]:
    """Boards of a thousand and a million players, or of fewer where it has to be `quick`."""
    return [asyncio.run(measured(QUICK_SIZES if quick else SIZES, say))]


if __name__ == "__main__":
    print(run(False, progress("submit"))[0].markdown())
