"""Which boards are open on which partitions, and from which offset each of them goes on.

Owns: the places of all boards (`positions.py`), taken from `applied` in Redis and never from what the group
committed; finding new boards and those that can take nothing (no `applied` of this log, or one below the
log's start), and telling the keeper of them until they are back. It works beside the reading: a board that is
lost, or a PostgreSQL that does not answer, holds up nobody.
Never does: read records or move `applied`. Neighbour: `ingest.py` reads and submits by these places.
"""

import asyncio
import contextlib
import inspect
import time
from collections.abc import Awaitable, Callable, Collection

import structlog
from redis.exceptions import RedisError

from server.archive.catalog import SeasonCatalog
from server.archive.errors import ArchiveUnavailable
from server.board.connection import trouble
from server.board.position import Applied
from server.board.store import BoardStore
from server.core.season import Season
from server.feed.positions import Partition
from server.feed.reader import LogReader
from server.metrics import Metrics

log = structlog.get_logger(__name__)

LOOK_SECONDS = 1.0
LOST_LOOK_SECONDS = 0.2
REPORT_SECONDS = 1.0
LOST_SECONDS = 5.0
SEASONS_SECONDS = 2.0

OnLost = Callable[[Season], Awaitable[None] | None]


class BoardWatch:
    """The boards of one log, while one reader reads it."""

    def __init__(
        self,
        metrics: Metrics,
        catalog: SeasonCatalog,
        boards: BoardStore,
        reader: LogReader,
        *,
        log_number: int,
        on_lost: OnLost,
    ) -> None:
        self._metrics = metrics
        self._catalog = catalog
        self._boards = boards
        self._reader = reader
        self._log = log_number
        self._on_lost = on_lost
        self._wake = asyncio.Event()
        self._starts: dict[int, int] = {}  # where the log begins, by partition
        self._reported: dict[int, float] = {}  # when a lost board was last reported
        self._closed: dict[int, float] = {}  # season → monotonic seconds since which its board is not open
        self._opened: set[int] = set()  # boards that have taken results here
        self.seasons: dict[int, Season] = {}
        self.partitions: dict[int, Partition] = {}
        self.problem: str | None = None
        self.looked_at = 0.0  # Unix seconds at which the last look that got through began

    async def run(self) -> None:
        """Look every second, more often for a board that is lost, at once when woken. Raises KafkaError."""
        while True:
            self._wake.clear()
            began = time.time()
            try:
                await self.look()
                self.problem, self.looked_at = None, began
                self._note_closed(self.seasons.keys() - self.open_boards())
            except (RedisError, OSError, TimeoutError) as error:
                self.problem = trouble(error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOST_LOOK_SECONDS if self._reported else LOOK_SECONDS):
                    await self._wake.wait()

    def _note_closed(self, closed: Collection[int]) -> None:
        self._metrics.closed_boards.set(len(closed))
        now = time.monotonic()
        self._closed = {season_id: self._closed.get(season_id, now) for season_id in closed}

    @property
    def lost(self) -> str | None:
        """Which boards of running seasons have taken nothing for longer than a small rebuild needs."""
        now, now_us = time.monotonic(), time.time_ns() // 1_000
        boards = [
            season.board
            for season_id, since in self._closed.items()
            if (season := self.seasons.get(season_id)) is not None
            and now - since > LOST_SECONDS
            and now_us < season.ends_us + season.grace_us
        ]
        return (
            f"boards that take nothing until a keeper has rebuilt them: {', '.join(boards)}"
            if boards
            else None
        )

    def wake(self) -> None:
        """Look now."""
        self._wake.set()

    def lose(self, season_id: int) -> None:
        """Take the board from all partitions until Redis names a place to go on from."""
        for partition in self.partitions.values():
            partition.lose(season_id)
        self.wake()

    def open_boards(self) -> set[int]:
        """Seasons whose boards take results on every partition that this process reads."""
        everywhere = [set(partition.places) for partition in self.partitions.values()]
        return set.intersection(*everywhere) if everywhere else set()

    def below_start(self, partition: int, applied: int) -> bool:
        """Whether the log, as far as is known, no longer has what a board at `applied` needs."""
        return applied < self._starts.get(partition, 0)

    async def look(self) -> None:
        """Take in partitions that came to this process, and boards that are not open on all of them."""
        await self._take_partitions()
        await self._read_seasons()
        for season in list(self.seasons.values()):
            closed = [
                number
                for number, partition in self.partitions.items()
                if season.season_id not in partition.places
            ]
            if closed:
                await self._open(season, closed)

    async def _take_partitions(self) -> None:
        for number in list(self.partitions):
            if not self._reader.holds(number):
                del self.partitions[number]
        fresh = self._reader.take_fresh()
        if fresh:
            self._starts |= await self._reader.starts(fresh)
            self.partitions |= {number: Partition() for number in fresh if self._reader.holds(number)}

    async def _read_seasons(self) -> None:
        """Read the seasons; while PostgreSQL is away those that are known stay."""
        with contextlib.suppress(ArchiveUnavailable, TimeoutError):
            async with asyncio.timeout(SEASONS_SECONDS):
                self.seasons = {season.season_id: season for season in await self._catalog.all()}

    async def _open(self, season: Season, partitions: list[int]) -> None:
        applied = await self._boards.applied(season.season_id)
        lost = applied is None or applied.log != self._log
        for number in partitions:
            if lost or number not in self.partitions:
                continue
            assert applied is not None
            offset = applied.offsets.get(number, 0)
            if self.below_start(number, offset):
                lost = True
            else:
                self.partitions[number].open(season.season_id, offset, time.monotonic())
        if lost:
            await self._report(season, applied)
        else:
            self._reported.pop(season.season_id, None)
            self._opened.add(season.season_id)

    async def _report(self, season: Season, applied: Applied | None) -> None:
        now = time.monotonic()
        if now - self._reported.get(season.season_id, -REPORT_SECONDS) < REPORT_SECONDS:
            return
        if season.season_id not in self._reported:
            was_there = applied is not None or season.season_id in self._opened
            tell = log.warning if was_there else log.info  # a new season's board has still to be made
            offsets = None if applied is None else applied.offsets
            tell("board_lost", board=season.board, log=self._log, was_there=was_there, offset=offsets)
        told = self._on_lost(season)
        if inspect.isawaitable(told):
            await told
        self._reported[season.season_id] = now
