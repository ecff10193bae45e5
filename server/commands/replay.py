"""`rankcast replay`: a file of records into Kafka, every line's bytes untouched.

Owns the reading (plain or .gz), the pace and the progress bar. Never judges a record: bad ones are what
ingest and persist have to refuse. Neighbours: `feed/producer.py` gives each line its key and sends it.
"""

import asyncio
import gzip
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from server.commands.located import CommandError
from server.feed.pace import Pace
from server.feed.producer import ResultProducer, replay_key
from server.metrics import Metrics
from server.settings import Settings

CHUNK = 2_000  # records in one call of the producer
IN_FLIGHT = 8  # calls that wait for Kafka at the same time
STEPS_A_SECOND = 20  # with a speed: how often records are sent

Position = Callable[[], int]
Tell = Callable[[int], None]


async def replay(settings: Settings, path: Path, speed: float | None, console: Console) -> int:
    """Send every line of the file; return how many Kafka has acknowledged, which is all.

    `speed` is records a second, None as fast as Kafka takes them. Raises CommandError for a file that cannot
    be read, RankcastError where Kafka does not take a record.
    """
    producer = ResultProducer(settings, Metrics())
    with opened(path) as (lines, position, size):
        await producer.start()
        try:
            with _bar(console) as bar:
                shown = bar.add_task(path.name, total=size, count=0)

                def tell(count: int) -> None:
                    bar.update(shown, completed=position(), count=count)

                return await _send_all(producer, lines, speed, tell)
        finally:
            await producer.stop()


@contextmanager
def opened(path: Path) -> Iterator[tuple[Iterator[bytes], Position, int]]:
    """The file's lines without line feeds, how many of its bytes have been read, and how many it has."""
    try:
        with path.open("rb") as raw, gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw as file:
            lines = (line.removesuffix(b"\n") for line in file)
            yield lines, raw.tell, path.stat().st_size
    except (OSError, EOFError, zlib.error) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise CommandError(f"{path}: {reason}") from error


async def _send_all(producer: ResultProducer, lines: Iterator[bytes], speed: float | None, tell: Tell) -> int:
    """Send chunk after chunk, a few at a time; a player's records keep their order."""
    size = CHUNK if speed is None else max(1, min(CHUNK, int(speed / STEPS_A_SECOND)))
    pace = Pace(speed)
    waiting: deque[tuple[asyncio.Task[None], int]] = deque()
    acknowledged = 0
    try:
        while chunk := [(replay_key(line), line) for line in islice(lines, size)]:
            await pace.wait(len(chunk))
            waiting.append((asyncio.create_task(producer.send(chunk)), len(chunk)))
            while len(waiting) >= IN_FLIGHT:
                acknowledged += await _first(waiting)
                tell(acknowledged)
        while waiting:
            acknowledged += await _first(waiting)
            tell(acknowledged)
    finally:
        for task, _ in waiting:
            task.cancel()
        await asyncio.gather(*(task for task, _ in waiting), return_exceptions=True)
    return acknowledged


async def _first(waiting: "deque[tuple[asyncio.Task[None], int]]") -> int:
    task, count = waiting.popleft()
    await task
    return count


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[count]:,} acknowledged"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
