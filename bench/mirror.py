"""What mirroring a big board costs, on a Valkey of its own: `python -m bench.mirror [SIZE …]`."""

import asyncio
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from redis.asyncio import Redis
from rich.console import Console
from rich.table import Table

from server.board.connection import connect
from server.core.codec import MAX_SCORE
from server.core.season import Season
from server.embedded.valkey import Valkey
from server.live.mirrors import Mirrors
from server.metrics import Metrics
from server.settings import Settings

SEASON = Season.parse(
    {"season_id": 1, "name": "bench", "starts_at": "2026-01-01T00:00:00Z", "ends_at": "2027-01-01T00:00:00Z"},
    0,
)
ZSET, META, LOG, EVENTS = (f"lb:{{s1}}{end}" for end in ("", ":meta", ":log", ":events"))
CALLS, ROWS = 400, 50


class Catalog:
    """The one season that there is."""

    async def get(self, season_id: int) -> Season | None:
        return SEASON if season_id == SEASON.season_id else None


class Stalls:
    """The longest time that the event loop was kept from a timer."""

    def __init__(self) -> None:
        self.longest_s = 0.0

    async def watch(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            self.longest_s = max(self.longest_s, time.perf_counter() - before - 0.001)


@contextmanager
def stalls() -> Iterator[Stalls]:
    """Watch the loop while the block runs."""
    watched = Stalls()
    task = asyncio.create_task(watched.watch())
    try:
        yield watched
    finally:
        task.cancel()


async def fill(redis: Redis, size: int) -> None:
    """Make a board of so many players."""
    dice = np.random.default_rng(1)
    players, scores = (
        dice.permutation(size * 3)[:size].tolist(),
        dice.integers(0, MAX_SCORE // 2, size).tolist(),
    )
    for start in range(0, size, 10_000):
        some = slice(start, start + 10_000)
        await redis.zadd(ZSET, dict(zip(players[some], scores[some], strict=True)))
    await redis.hset(META, mapping={"epoch": "0" * 16, "version": 1})


async def change(redis: Redis, size: int) -> None:
    """Send calls of changes as fast as Redis takes them, each a version of its own."""
    dice = np.random.default_rng(2)
    for version in range(2, CALLS + 2):
        players = np.unique(dice.integers(0, size * 3, ROWS)).tolist()
        scores = dice.integers(0, MAX_SCORE // 2, len(players)).tolist()
        rows = ",".join(f"[{player},{score},null,1]" for player, score in zip(players, scores, strict=True))
        event = f'{{"epoch":"{"0" * 16}","version":{version},"rows":[{rows}]}}'
        async with redis.pipeline(transaction=True) as pipe:
            pipe.zadd(ZSET, dict(zip(players, scores, strict=True)))
            pipe.hset(META, "version", str(version))
            pipe.xadd(LOG, {"e": event}, maxlen=1000)
            pipe.publish(EVENTS, event)
            await pipe.execute()


async def redis_cpu(redis: Redis) -> float:
    """CPU seconds that Redis has used."""
    used = await redis.info("cpu")
    return float(used["used_cpu_user"]) + float(used["used_cpu_sys"])


async def measure(url: str, size: int) -> dict[str, str]:
    """Return one column of the table."""
    async with connect(url) as redis:
        await redis.flushall()
        await fill(redis, size)
        before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        mirrors, stop = Mirrors(Settings(mirror_ready_s=600), Metrics(), redis, Catalog()), asyncio.Event()
        running = asyncio.create_task(mirrors.run(stop))
        redis_s, own_s, start = await redis_cpu(redis), time.process_time(), time.perf_counter()
        with stalls() as loading:
            mirror = await mirrors.open("s1")
        load_s, own_s = time.perf_counter() - start, time.process_time() - own_s
        redis_s = await redis_cpu(redis) - redis_s
        peak_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb) / 1024
        all_shown = asyncio.Event()
        mirror.add_listener(lambda: all_shown.set() if mirror.version == CALLS + 1 else None)
        start = time.perf_counter()
        with stalls() as following:
            await change(redis, size)
            await all_shown.wait()
        calls_s = time.perf_counter() - start
        stop.set()
        await running
        return {
            "load": f"{load_s:.1f} s",
            "CPU of it: Redis, here": f"{redis_s:.1f} s, {own_s:.1f} s",
            "longest stall while loading": f"{loading.longest_s * 1000:.1f} ms",
            "memory, at most while loading": f"{peak_mb:,.0f} MB",
            "memory of the index": f"{mirror.index.nbytes / 2**20:,.0f} MB",
            f"{CALLS} calls of {ROWS} rows": f"{calls_s:.2f} s",
            "longest stall meanwhile": f"{following.longest_s * 1000:.1f} ms",
        }


async def main(sizes: list[int]) -> None:
    server = Valkey(Path(tempfile.mkdtemp(prefix="rankcast-bench-")), "bench", durable=False)
    await server.start()
    try:
        columns = [await measure(server.address, size) for size in sizes]
    finally:
        server.kill()
    table = Table("mirror", *(f"{size:,} players" for size in sizes))
    for name in columns[0]:
        table.add_row(name, *(column[name] for column in columns))
    Console().print(table)


if __name__ == "__main__":
    asyncio.run(main([int(text.replace(",", "")) for text in sys.argv[1:]] or [1_000_000]))
