"""What PostgreSQL costs: results stored, asked about and read again: `python -m bench.archive [ROWS]`."""

import asyncio
import random
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from server.archive.logs import Evidence
from server.archive.results import Row
from server.archive.store import Archive
from server.core.log_identity import LogIdentity
from server.core.results import Result
from server.core.season import Season
from server.embedded.postgres import Postgres
from server.metrics import Metrics
from server.settings import Settings

ROWS = 300_000
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


async def store(archive: Archive, of: Season, rows: int, size: int) -> tuple[float, list[Row]]:
    """Store batches; return rows a second (median over the batches) and the last batch."""
    log = await archive.log_number(LogIdentity("bench", of.operator, str(size)))
    await archive.hold(log, 0, 0)
    taken, batch = [], []
    for batch in batches(of, rows, size):
        start = time.perf_counter()
        first, end = batch[0][0], batch[-1][0] + 1
        await archive.store(log, 0, first, end, batch, evidence=Evidence(at_end_ago_us=0))
        taken.append(time.perf_counter() - start)
    return size / median(taken), batch


async def ask(archive: Archive, of: Season, batch: list[Row]) -> float:
    """Return the milliseconds that a question about 1,000 results takes, in the median."""
    log = await archive.current_log()
    assert log is not None
    half = [(row[1].match_id, row[1].player_id, row[0] + index % 2) for index, row in enumerate(batch[:500])]
    records = half + [(str(uuid.UUID(int=index)), index, index) for index in range(500)]
    taken = []
    for _ in range(30):
        start = time.perf_counter()
        await archive.ask(log, 0, of.season_id, records)
        taken.append(time.perf_counter() - start)
    return median(taken) * 1000


async def read(archive: Archive, of: Season) -> float:
    """Return the totals that are streamed a second."""
    start, count = time.perf_counter(), 0
    async with archive.totals(of.season_id) as snapshot:
        async for chunk in snapshot.chunks():
            count += len(chunk)
    return count / (time.perf_counter() - start)


async def measure(archive: Archive, rows: int) -> Table:
    table = Table("what", "figure", title=f"PostgreSQL, {rows:,} rows a run, {PLAYERS:,} players")
    for season_id, (operator, size) in enumerate(
        [("best", 1000), ("best", 5000), ("sum", 1000), ("sum", 5000)], 1
    ):
        of = season(season_id, operator)
        await archive.create_season(of)
        speed, last = await store(archive, of, rows, size)
        table.add_row(f"stored, {operator}, batches of {size:,}", f"{speed:,.0f} rows/s")
        if size == 5000:
            table.add_row(f"1,000 asked about, {operator}", f"{await ask(archive, of, last):.1f} ms")
            table.add_row(f"totals streamed, {operator}", f"{await read(archive, of):,.0f} players/s")
    return table


async def run(folder: Path, rows: int) -> None:
    server = Postgres(folder / "postgres")
    await server.start()
    try:
        archive = await Archive.connect(server.address, Settings(), Metrics())
        await archive.migrate()
        Console().print(await measure(archive, rows))
        await archive.close()
    finally:
        await server.stop()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another account
        asyncio.run(run(Path(folder), int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))


if __name__ == "__main__":
    main()
