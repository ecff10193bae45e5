"""What mirroring a board of a million players costs, on a Valkey of its own.

Owns the board, and changes as the submit script makes them. `server/live/mirrors.py` is what is measured.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from redis.asyncio import Redis

from bench.report import Say, Table, spread
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
SIZE, QUICK_SIZE = 1_000_000, 200_000
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


async def change(redis: Redis, size: int, epoch: str) -> None:
    """Send calls of changes as fast as Redis takes them, each a version of its own."""
    dice = np.random.default_rng(2)
    for version in range(2, CALLS + 2):
        players = np.unique(dice.integers(0, size * 3, ROWS)).tolist()
        scores = dice.integers(0, MAX_SCORE // 2, len(players)).tolist()
        rows = ",".join(f"[{player},{score},null,1]" for player, score in zip(players, scores, strict=True))
        event = f'{{"epoch":"{epoch}","version":{version},"rows":[{rows}]}}'
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


def resident_mb(field: str) -> float:
    """This process's memory: `VmRSS` what it has, `VmHWM` the most that it had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


async def measure(redis: Redis, size: int, epoch: str) -> dict[str, float]:
    """Load the board once and follow changes of it: figures by name, in seconds, milliseconds or MB."""
    await redis.hset(META, mapping={"epoch": epoch, "version": 1})
    before_mb = resident_mb("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # noqa: ASYNC240  the most begins anew
    mirrors, stop = Mirrors(Settings(mirror_ready_s=600), Metrics(), redis, Catalog()), asyncio.Event()
    running = asyncio.create_task(mirrors.run(stop))
    redis_s, own_s, start = await redis_cpu(redis), time.process_time(), time.perf_counter()
    with stalls() as loading:
        mirror = await mirrors.open("s1")
    load_s, own_s = time.perf_counter() - start, time.process_time() - own_s
    redis_s = await redis_cpu(redis) - redis_s
    peak_mb = resident_mb("VmHWM") - before_mb
    all_shown = asyncio.Event()
    mirror.add_listener(lambda: all_shown.set() if mirror.version == CALLS + 1 else None)
    start = time.perf_counter()
    with stalls() as following:
        await change(redis, size, epoch)
        await all_shown.wait()
    calls_s = time.perf_counter() - start
    stop.set()
    await running
    return {
        "load": load_s,
        "CPU of it in Redis": redis_s,
        "CPU of it here": own_s,
        "longest stall while loading": loading.longest_s * 1000,
        "memory, at most while loading": peak_mb,
        "memory of the index": mirror.index.nbytes / 2**20,
        f"{CALLS} calls of {ROWS} changes": calls_s,
        "longest stall meanwhile": following.longest_s * 1000,
    }


async def measured(size: int, runs: int, say: Say) -> list[dict[str, float]]:
    """Run the benchmark on a server of its own."""
    with tempfile.TemporaryDirectory(prefix="rankcast-bench-") as folder:
        server = Valkey(Path(folder), "bench", durable=False)
        await server.start()
        try:
            async with connect(server.address) as redis:
                say(f"filling a board of {size:,} players")
                await fill(redis, size)
                found = []
                for number in range(runs):
                    say(f"run {number + 1} of {runs}")
                    found.append(await measure(redis, size, f"{number:016x}"))
                return found
        finally:
            server.kill()


def run(quick: bool, say: Say) -> list[Table]:
    """Load a million players three times, or fewer once where it has to be `quick`."""
    size, runs = (QUICK_SIZE, 1) if quick else (SIZE, 3)
    found = asyncio.run(measured(size, runs, say))
    table = Table(f"A mirror of {size:,} players", ("", "median (least to most)"))
    for name in found[0]:
        values = [figures[name] for figures in found]
        unit, digits = (" MB", 0) if "memory" in name else (" ms", 1) if "stall" in name else (" s", 2)
        table.add(name, spread(values, unit, digits))
    return [table]
