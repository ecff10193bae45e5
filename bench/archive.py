"""What PostgreSQL costs: results stored, asked about and read again, on a server of its own.

Owns random results and the calls that are timed. Neighbour: `server/archive/store.py` is what is measured.
"""

import asyncio
import random
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from bench.report import Say, Table, spread
from server.archive.logs import Evidence
from server.archive.results import Row
from server.archive.store import Archive
from server.core.log_identity import LogIdentity
from server.core.results import Result
from server.core.season import Season
from server.embedded.postgres import Postgres
from server.metrics import Metrics
from server.settings import Settings

ROWS, QUICK_ROWS = 150_000, 30_000
PLAYERS = 1_000_000


def season(season_id: int, operator: str) -> Season:
    """A season that counts what the benchmark makes."""
    return Season.parse(
        {
            "season_id": season_id,
            "name": "bench",
            "starts_at": "2026-01-01T00:00:00Z",
            "ends_at": "2027-01-01T00:00:00Z",
            "counts_from": "2026-01-01T00:00:00Z",
            "operator": operator,
        },
        0,
    )


def batches(of: Season, count: int, size: int) -> Iterator[list[Row]]:
    """Random results of random players, in batches, by offset."""
    for start in range(0, count, size):
        yield [
            (
                offset,
                Result(
                    str(uuid.UUID(int=random.getrandbits(128))),
                    random.randrange(PLAYERS),
                    of.season_id,
                    random.randrange(2_000),
                    of.starts_us + random.randrange(10**13),
                ),
            )
            for offset in range(start, start + size)
        ]


async def store(archive: Archive, of: Season, rows: int, size: int) -> tuple[list[float], list[Row]]:
    """Store batches; return rows a second of each, and the last batch."""
    log = await archive.log_number(LogIdentity("bench", of.operator, str(size)))
    await archive.hold(log, 0, 0)
    speeds, batch = [], []
    for batch in batches(of, rows, size):
        start = time.perf_counter()
        first, end = batch[0][0], batch[-1][0] + 1
        await archive.store(log, 0, first, end, batch, evidence=Evidence(at_end_ago_us=0))
        speeds.append(size / (time.perf_counter() - start))
    return speeds, batch


async def ask(archive: Archive, of: Season, batch: list[Row]) -> list[float]:
    """Return the milliseconds that each of some questions about 1,000 results takes."""
    log = await archive.current_log()
    assert log is not None
    half = [(row[1].match_id, row[1].player_id, row[0] + index % 2) for index, row in enumerate(batch[:500])]
    records = half + [(str(uuid.UUID(int=index)), index, index) for index in range(500)]
    taken = []
    for _ in range(30):
        start = time.perf_counter()
        await archive.ask(log, 0, of.season_id, records)
        taken.append((time.perf_counter() - start) * 1000)
    return taken


async def read(archive: Archive, of: Season) -> float:
    """Return the totals that are streamed a second."""
    start, count = time.perf_counter(), 0
    async with archive.totals(of.season_id) as snapshot:
        async for chunk in snapshot.chunks():
            count += len(chunk)
    return count / (time.perf_counter() - start)


async def measure(archive: Archive, rows: int, say: Say) -> Table:
    table = Table(f"PostgreSQL: {rows:,} results of {PLAYERS:,} players a row, one connection")
    kinds = [("best", 1000), ("best", 5000), ("sum", 1000), ("sum", 5000)]
    for season_id, (operator, size) in enumerate(kinds, 1):
        say(f"{operator}, batches of {size:,}")
        of = season(season_id, operator)
        await archive.create_season(of)
        speeds, last = await store(archive, of, rows, size)
        table.add(f"stored, `{operator}`, batches of {size:,}", spread(speeds, "/s"))
        if size == 5000:
            table.add(f"1,000 asked about, `{operator}`", spread(await ask(archive, of, last), " ms", 1))
            table.add(f"totals streamed, `{operator}`", f"{await read(archive, of):,.0f} players/s")
    return table


async def measured(rows: int, say: Say) -> Table:
    """Run the benchmark on a server of its own."""
    with tempfile.TemporaryDirectory(prefix="rankcast-bench-") as name:
        folder = Path(name)
        await asyncio.to_thread(folder.chmod, 0o711)  # PostgreSQL may run as another account
        say("starting")
        server = Postgres(folder / "postgres")
        await server.start()
        try:
            archive = await Archive.connect(server.address, Settings(), Metrics())
            await archive.migrate()
            table = await measure(archive, rows, say)
            await archive.close()
            return table
        finally:
            await server.stop()


def run(quick: bool, say: Say) -> list[Table]:
    """Store many rows, or a few where it has to be `quick`."""
    return [asyncio.run(measured(QUICK_ROWS if quick else ROWS, say))]
