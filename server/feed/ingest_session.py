"""Ingest on one log: read, decode, submit, while the next range is decoded as Redis works on the last one.

Owns: the round, and what is done about each reply.
Never does: decide what counts (`decode.py`), where a board stands (`board_watch.py`), or rebuild.
Neighbours: `ingest.py` runs one a log, `apply.py` submits, `positions.py` says where to read.
"""

import asyncio
import random
import time
from bisect import bisect_left
from collections.abc import Collection, Mapping
from typing import NamedTuple

import structlog
from redis.exceptions import RedisError

from server.archive.catalog import SeasonCatalog
from server.archive.errors import ArchiveUnavailable
from server.board.connection import trouble
from server.core.season import Season
from server.feed.apply import Applier, Reached, Span
from server.feed.backoff import Backoff
from server.feed.board_watch import BoardWatch
from server.feed.decode import Decoded, Share, decode
from server.feed.positions import Partition
from server.feed.reader import Fetch, LogReader
from server.feed.report import Report
from server.metrics import Metrics
from server.settings import Settings

log = structlog.get_logger(__name__)

ROLE = "ingest"
READ_SECONDS = 0.1
IDLE_SHARE = 0.7  # of the longest time that `applied` may stand still: a round comes on top
RESOLVE_SECONDS = 2.0


class _Task(NamedTuple):
    """A span on its way, and the partition whose boards it moves."""

    places: Partition
    span: Span


class IngestSession:
    """One reader's work, until the stop or until the reader raises."""

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics,
        catalog: SeasonCatalog,
        reader: LogReader,
        *,
        applier: Applier,
        watch: BoardWatch,
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._catalog = catalog
        self._reader = reader
        self._applier = applier
        self._watch = watch
        self._counted: dict[int, int] = {}  # up to where refused records were counted, by partition
        self._report = Report(metrics, ROLE, reader, self._positions)
        self._redis_problem: str | None = None
        self._watching: asyncio.Task[None] | None = None
        self._submitting: asyncio.Task[None] | None = None

    @property
    def problem(self) -> str | None:
        """What keeps results from the boards, in a sentence."""
        if self._applier.unanswered:
            return "PostgreSQL does not answer; boards that need its word wait"
        return self._redis_problem or self._watch.problem or self._watch.lost

    @property
    def open_boards(self) -> set[int]:
        """Seasons whose boards take results on every partition that this process reads."""
        return self._watch.open_boards()

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`; then finish what is in hand and commit. Raises what the reader raises."""
        self._watching = asyncio.create_task(self._watch.run())
        self._report.start()
        while not stop.is_set():
            self._report.check()
            if self._watching.done():
                await self._watching
            if self._reader.has_fresh:
                self._watch.wake()
            self._steer()
            due = self._due(await self._reader.read(READ_SECONDS))
            decoded = [(await self._decoded(fetch), boards) for fetch, boards in due]
            await self._submitted()
            tasks = [*self._tasks(decoded), *self._idle_tasks()]
            if tasks:
                self._submitting = asyncio.create_task(self._submit(tasks, decoded, stop))
                await asyncio.sleep(0)
        await self._submitted()
        await self._report.commit()

    async def close(self) -> None:
        """End what runs beside the round; nothing more is written."""
        await self._report.stop()
        tasks = [task for task in (self._watching, self._submitting) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._applier.close()

    def left(self, then: float) -> int | None:
        """Records up to the log's end as of `then`; None while that is not known.

        A board that is being rebuilt does not count: what it lacks is in PostgreSQL. One that came back since
        the last look does, so boards are looked at once more after `then`.
        """
        if self._watch.looked_at < then:
            self._watch.wake()
            return None
        return self._report.left(then)

    def known_left(self) -> int | None:
        """Records up to where the log was last known to end."""
        return self._report.known_left()

    # -- reading

    def _steer(self) -> None:
        """Let each partition be read where its boards need it."""
        now = time.monotonic()
        for number, places in self._watch.partitions.items():
            reading = self._reader.at(number)
            wanted = places.next_read(-1 if reading is None else reading, self._reader.end(number), now)
            self._reader.steer(number, wanted)

    def _due(self, fetches: list[Fetch]) -> list[tuple[Fetch, list[int]]]:
        """Each fetch with the boards that it is for: those whose season is known before it is decoded."""
        now = time.monotonic()
        partitions = self._watch.partitions
        due = [
            (fetch, partitions[fetch.partition].served(fetch.start, fetch.end, now))
            for fetch in fetches
            if fetch.partition in partitions
        ]
        return [(fetch, boards) for fetch, boards in due if boards]

    async def _decoded(self, fetch: Fetch) -> Decoded:
        partitions = self._reader.partition_count
        check_key = self._settings.check_key
        decoded = await decode(
            fetch, self._catalog.peek, self._resolve, check_key=check_key, partitions=partitions
        )
        if fetch.start >= self._counted.get(fetch.partition, 0):  # read again, it was counted
            self._counted[fetch.partition] = fetch.end
            for reason, count in decoded.reasons().items():
                self._metrics.refused.labels(ROLE, reason).inc(count)
            if decoded.misplaced:
                self._metrics.misplaced.labels(ROLE).inc(decoded.misplaced)
        return decoded

    async def _resolve(self, season_ids: Collection[int]) -> Mapping[int, Season]:
        """Look seasons up. Those that cannot be now have no open board: theirs reads these records later."""
        try:
            async with asyncio.timeout(RESOLVE_SECONDS):
                found = await self._catalog.resolve(season_ids)
        except (ArchiveUnavailable, TimeoutError):
            return {}
        if found:
            self._watch.wake()
        return found

    # -- submitting

    def _tasks(self, decoded: list[tuple[Decoded, list[int]]]) -> list[_Task]:
        """The ranges as they are for each board, from the place on where it stands."""
        tasks = []
        for fetched, boards in decoded:
            places = self._watch.partitions.get(fetched.partition)
            for season_id in boards if places is not None else ():
                assert places is not None
                place, season = places.places.get(season_id), self._watch.seasons.get(season_id)
                if place is None or season is None or not fetched.start <= place.expected < fetched.end:
                    continue
                share = fetched.shares.get(season_id, _NONE)
                first = bisect_left(share.offsets, place.expected)
                span = Span(
                    season,
                    fetched.partition,
                    place.expected,
                    fetched.end,
                    share.offsets[first:],
                    share.results[first:],
                )
                places.under_way(season_id, fetched.end)
                tasks.append(_Task(places, span))
        return tasks

    def _idle_tasks(self) -> list[_Task]:
        """Empty ranges for boards that got nothing of late: one whose `applied` stands still looks dead."""
        now, every = time.monotonic(), self._settings.applied_every_s * IDLE_SHARE
        tasks = []
        for number, places in self._watch.partitions.items():
            for season_id in places.idle(now, every):
                at, season = places.places[season_id].expected, self._watch.seasons.get(season_id)
                if season is not None:
                    tasks.append(_Task(places, Span(season, number, at, at)))
        return tasks

    async def _submitted(self) -> None:
        """Wait for the round that is under way."""
        if self._submitting is not None:
            await self._submitting
            self._submitting = None

    async def _submit(
        self, tasks: list[_Task], decoded: list[tuple[Decoded, list[int]]], stop: asyncio.Event
    ) -> None:
        """Submit until Redis has answered, or no partition of the round is ours any more."""
        backoff = Backoff(0.05, 1.0)
        began = time.monotonic()
        while tasks:
            try:
                reached = await self._applier.apply([task.span for task in tasks])
                break
            except (RedisError, OSError, TimeoutError) as error:
                self._redis_away(error)
            await backoff.wait(stop)
            if stop.is_set():
                return
            tasks = [task for task in tasks if self._watch.partitions.get(task.span.partition) is task.places]
        else:
            return
        self._redis_problem = None
        for task, answer in zip(tasks, reached, strict=True):
            self._settle(task, answer)
        count = sum(len(task.span.results) for task in tasks)
        if count:
            self._metrics.batch_size.labels(ROLE).observe(count)
            self._metrics.batch_seconds.labels(ROLE).observe(time.monotonic() - began)
            self._report.done(max((fetched.last_ms or 0 for fetched, _ in decoded), default=0))

    def _settle(self, task: _Task, answer: Reached) -> None:
        """Do what the script's reply asks for."""
        places, season = task.places, task.span.season
        now, where = time.monotonic(), {"board": season.board, "partition": task.span.partition}
        if answer.kind == "done":
            places.done(season.season_id, answer.applied, now)
        elif answer.kind == "wait":
            places.wait(season.season_id, answer.applied, now, random.random())
            self._metrics.retries.labels(ROLE, "wait").inc()
        elif answer.kind == "seek" and not self._watch.below_start(task.span.partition, answer.applied):
            place = places.places.get(season.season_id)
            if (
                place is not None and answer.applied < place.applied
            ):  # else an earlier call of ours has to wait
                self._metrics.went_back.inc()
                log.warning("board_went_back", **where, offset=answer.applied, expected=place.applied)
            places.back(season.season_id, answer.applied)
        else:
            log.warning("board_takes_nothing", **where, reply=answer.kind, offset=answer.applied)
            self._watch.lose(season.season_id)

    def _redis_away(self, error: Exception) -> None:
        self._metrics.retries.labels(ROLE, "redis").inc()
        if self._redis_problem is None:
            log.warning("redis_away", role=ROLE, error=repr(error))
        self._redis_problem = trouble(error)

    def _positions(self) -> dict[int, int | None]:
        """Up to where all open boards have everything, by partition."""
        return {number: places.applied() for number, places in self._watch.partitions.items()}


_NONE = Share()
