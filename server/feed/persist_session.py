"""Persist on one log: read, decode, refuse, store, while the next range is decoded as PostgreSQL works.

Owns: the round; the order in it (a refused record is in its topic before its offset moves on); what is done
when PostgreSQL stands elsewhere than this process thought, because somebody else wrote or a commit came
through unheard; when evidence of how far persist is (`evidence.py`) is brought, with nothing to store, too.
Never does: decide what counts (`decode.py`), or where a partition goes on: PostgreSQL's offset says that.
Neighbours: `persist.py` runs one a log, `archive/store.py` moves rows, totals and offset in one transaction.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import structlog
from redis.exceptions import RedisError

from server.archive.catalog import SeasonCatalog
from server.archive.errors import ArchiveUnavailable, Fenced, SeasonAppeared, StoreRefused
from server.archive.results import Row
from server.archive.store import Archive
from server.core.season import Season
from server.errors import RankcastError
from server.feed.backoff import Stopped, insist
from server.feed.decode import Decoded, decode
from server.feed.evidence import evidence_of
from server.feed.reader import Fetch, LogChanged, LogReader
from server.feed.rejected import RejectedRecords
from server.feed.report import Report
from server.feed.stored import StoredCounts
from server.feed.stuck import StuckPartitions, up_to_refused
from server.metrics import Metrics
from server.settings import Settings

log = structlog.get_logger(__name__)

ROLE = "persist"
READ_SECONDS = 0.1
EVIDENCE_SECONDS = 5.0

OnLost = Callable[[Season], Awaitable[None]]


@dataclass(slots=True)
class _Stand:
    """Where a partition stands in PostgreSQL, and when (steady seconds) evidence was last brought."""

    next: int
    told_at: float = 0.0


class PersistSession:
    """One reader's work, until the stop or until the reader raises."""

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics,
        archive: Archive,
        catalog: SeasonCatalog,
        reader: LogReader,
        *,
        rejected: RejectedRecords,
        log_number: int,
        on_lost: OnLost,
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._archive = archive
        self._catalog = catalog
        self._reader = reader
        self._rejected = rejected
        self._log = log_number
        self._on_lost = on_lost
        self._stands: dict[int, _Stand] = {}
        self._held = False
        self._report = Report(metrics, ROLE, reader, self._positions)
        self._counts = StoredCounts(metrics, ROLE, self._report)
        self._storing: asyncio.Task[None] | None = None
        self._evidence_every = min(EVIDENCE_SECONDS, settings.marker_life_s / 8)
        self._stuck = StuckPartitions(metrics, log_number)
        self._waits: str | None = None

    @property
    def problem(self) -> str | None:
        """What keeps results from PostgreSQL, in a sentence."""
        return self._waits or self._stuck.problem

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`; then finish what is in hand. Raises what the reader raises."""
        self._report.start()
        with contextlib.suppress(Stopped):
            while not stop.is_set():
                self._report.check()
                if fresh := self._reader.take_fresh():
                    await self._stored()
                    await self._hold(fresh, stop)
                fetches = await self._reader.read(READ_SECONDS)
                decoded = [(fetch, await self._decoded(fetch, stop)) for fetch in fetches]
                await self._stored()
                self._storing = asyncio.create_task(self._store(decoded, stop))
                await asyncio.sleep(0)
            await self._stored()
        await self._report.commit()

    async def close(self) -> None:
        """End what runs beside the round."""
        await self._report.stop()
        if self._storing is not None:
            self._storing.cancel()
            await asyncio.gather(self._storing, return_exceptions=True)

    def left(self, then: float) -> int | None:
        """Records up to the log's end as of `then`; None while that is not known."""
        return self._report.left(then) if self._held else None

    def known_left(self) -> int | None:
        """Records up to where the log was last known to end."""
        return self._report.known_left()

    # -- reading

    async def _hold(self, fresh: Iterable[int], stop: asyncio.Event) -> None:
        """Begin new partitions where PostgreSQL stands or, where it holds none yet, where the log begins."""
        for partition in list(self._stands):
            if not self._reader.holds(partition):
                del self._stands[partition]
                self._stuck.forget(partition)
        for partition, start in (await self._reader.starts(fresh)).items():
            at = await self._archive.hold(self._log, partition, start, self._reader.verify)
            if at < start:
                at = await self._over_gap(partition, at, start, stop)
            self._stands[partition] = _Stand(at)
            self._reader.begin(partition, at)
        self._held = True

    async def _over_gap(self, partition: int, at: int, start: int, stop: asyncio.Event) -> int:
        """Pass over what retention took unread; return where to go on.

        A board may have it, since ingest reads by itself: all are reported lost, before PostgreSQL moves on.
        """
        log.error("records_lost", log=self._log, partition=partition, offset=at, log_begins=start)
        for season in await self._catalog.all():
            await insist(
                partial(self._on_lost, season), (RedisError, OSError, TimeoutError), self._away, stop
            )
        try:
            await self._archive.store(self._log, partition, at, start, [])
        except Fenced as fence:
            return self._found(partition, fence)
        self._metrics.lost_records.labels(ROLE).inc(start - at)
        return start

    async def _decoded(self, fetch: Fetch, stop: asyncio.Event) -> Decoded:
        def work() -> Awaitable[Decoded]:
            return decode(
                fetch,
                self._catalog.peek,
                self._catalog.resolve,
                check_key=self._settings.check_key,
                partitions=self._reader.partition_count,
            )

        return await insist(work, (ArchiveUnavailable,), self._away, stop)

    # -- storing

    async def _stored(self) -> None:
        """Wait for the round that is under way."""
        if self._storing is not None:
            await self._storing
            self._storing = None

    async def _store(self, round_: list[tuple[Fetch, Decoded]], stop: asyncio.Event) -> None:
        """Store each range; where there is none, bring evidence of how far persist is now and then."""
        for partition in self._stuck.due(time.monotonic()):
            self._reader.begin(partition, self._stands[partition].next)
        for fetch, decoded in round_:
            await self._keep(fetch, decoded, stop)
        now = time.monotonic()
        for partition, stand in list(self._stands.items()):
            end = self._reader.end(partition)
            if now - stand.told_at >= self._evidence_every and end is not None and end <= stand.next:
                nothing = Decoded(partition, stand.next, stand.next)
                await insist(partial(self._store_range, nothing), (ArchiveUnavailable,), self._away, stop)
        self._waits = None

    async def _keep(self, fetch: Fetch, decoded: Decoded, stop: asyncio.Event) -> None:
        """Write the refused records of a range, then store the others and move the offset over all."""
        while self._fits(decoded):
            try:
                if decoded.partition not in self._stuck:
                    await insist(partial(self._reject, decoded), (RankcastError,), self._away, stop)
                await insist(partial(self._store_range, decoded), (ArchiveUnavailable,), self._away, stop)
                return
            except SeasonAppeared as appeared:
                log.info("season_appeared", partition=fetch.partition, seasons=appeared.season_ids)
                await insist(self._catalog.refresh, (ArchiveUnavailable,), self._away, stop)
                decoded = await self._decoded(fetch, stop)

    async def _reject(self, decoded: Decoded) -> None:
        """Write the refused records to their topic, unless a season that they were refused for stands now."""
        if decoded.unknown and (seasons := await self._archive.seasons(decoded.unknown)):
            raise SeasonAppeared([season.season_id for season in seasons])
        if decoded.refused:
            await self._rejected.write(decoded.refused)

    def _fits(self, decoded: Decoded) -> bool:
        """Whether the range is the one that is due; not so when PostgreSQL turned out to stand elsewhere."""
        stand = self._stands.get(decoded.partition)
        return stand is not None and stand.next == decoded.start

    async def _store_range(self, decoded: Decoded) -> None:
        """Store one range and move the offset over it."""
        if not self._fits(decoded):
            return
        stand = self._stands[decoded.partition]
        rows = [
            row for share in decoded.shares.values() for row in zip(share.offsets, share.results, strict=True)
        ]
        if decoded.partition in self._stuck:
            await self._store_up_to_refused(decoded, sorted(rows)[:1])
            return
        began = time.monotonic()
        try:
            reply = await self._archive.store(
                self._log,
                decoded.partition,
                stand.next,
                decoded.end,
                rows,
                evidence=evidence_of(self._reader, decoded, time.monotonic()),
                unknown=decoded.unknown,
            )
        except Fenced as fence:
            self._fenced(decoded, fence)
            return
        except StoreRefused:
            await self._store_up_to_refused(decoded, sorted(rows))
            return
        stand.next = decoded.end
        stand.told_at = time.monotonic()
        if decoded.end > decoded.start:
            self._counts.batch(decoded, reply, time.monotonic() - began)

    async def _store_up_to_refused(self, decoded: Decoded, rows: list[Row]) -> None:
        """Store what lies before the result that PostgreSQL refuses and let the partition stand there.

        Where none is refused any more, the partition is read on from behind what was stored.
        """
        partition, start = decoded.partition, decoded.start
        stand, known = self._stands[partition], partition in self._stuck

        async def store(part: Sequence[Row], end: int) -> None:
            reply = await self._archive.store(
                self._log, partition, stand.next, end, part, unknown=decoded.unknown
            )
            stand.next = end
            self._counts.rows(reply)

        found = None
        try:
            found = await up_to_refused(rows, store) if rows else None
        except Fenced as fence:
            stand.next = self._found(partition, fence)
        finally:
            if found is not None:
                self._stuck.stand(partition, *found, time.monotonic())
                self._reader.steer(partition, None)
            elif stand.next != start or known:
                self._reader.begin(partition, stand.next)
        if known and found is None:
            self._stuck.free(partition)

    def _fenced(self, decoded: Decoded, fence: Fenced) -> None:
        """Go on where PostgreSQL stands; another log there means that ours is over.

        At the range's own end the commit came through unheard: the reader, there already or beyond with the
        next range in hand, stays where it is.
        """
        found = self._found(decoded.partition, fence)
        self._stands[decoded.partition] = _Stand(found)
        if found != decoded.end:
            self._reader.begin(decoded.partition, found)

    def _found(self, partition: int, fence: Fenced) -> int:
        """Where PostgreSQL stands, which somebody else or an unheard commit has moved."""
        self._metrics.retries.labels(ROLE, "fenced").inc()
        log.info(
            "persist_fenced",
            log=self._log,
            partition=partition,
            offset=fence.found_offset,
            found_log=fence.found_log,
        )
        if fence.found_log != self._log or fence.found_offset is None:
            raise LogChanged(f"log {self._log} is not the one that PostgreSQL reads: {fence}")
        return fence.found_offset

    # -- telling others

    def _away(self, fault: Exception) -> None:
        part = "archive" if isinstance(fault, ArchiveUnavailable) else "rejected"
        if not isinstance(fault, RankcastError):
            part = "redis"
        self._metrics.retries.labels(ROLE, part).inc()
        if self._waits is None:
            log.warning("persist_waits", part=part, error=str(fault))
        self._waits = f"persist: {fault}"

    def _positions(self) -> dict[int, int | None]:
        """Where PostgreSQL stands, by partition."""
        return {partition: stand.next for partition, stand in self._stands.items()}
