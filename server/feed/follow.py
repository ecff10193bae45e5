"""From one log to the next: whoever reads gets a reader of the log that the topic is now, again and again.

Owns: finding the log and its number, opening and closing readers, back-off while Kafka or PostgreSQL are
away, making a topic that is missing, and a sentence on what is the matter. Every outage ends with a new
consumer: one that went through it may stay silent for ever.
Never does: read a record. Neighbours: `ingest.py` and `persist.py` say what is done with a reader.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog
from aiokafka.errors import KafkaError

from server.archive.errors import ArchiveUnavailable, LogLeft
from server.archive.store import Archive
from server.feed.backoff import Backoff
from server.feed.identity import BrokerAway, LogState, TopicMissing, TopicWatch
from server.feed.reader import LogChanged, LogReader
from server.feed.topics import ensure_topics
from server.metrics import Metrics
from server.settings import Settings

log = structlog.get_logger(__name__)

MISSING_SECONDS = 5.0

Serve = Callable[[LogReader, int, asyncio.Event], Awaitable[None]]


class Follower:
    """Keeps one role (`ingest`, `persist`) on the topic's current log, `most` records a read."""

    def __init__(
        self, settings: Settings, metrics: Metrics, archive: Archive, *, role: str, most: int
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._archive = archive
        self._role = role
        self._most = most
        self._missing_since: float | None = None
        self._seen = False  # whether the topic was ever there
        self.problem: str | None = f"{role} has not begun to read yet"

    async def run(self, serve: Serve, stop: asyncio.Event) -> None:
        """Call `serve(reader, number of the log, stop)` for each log in turn, until `stop` is set.

        `serve` returns at the stop, and raises what the reader raises.
        """
        watch = TopicWatch(self._settings.kafka_bootstrap or "", self._settings.topic)
        backoff = Backoff()
        try:
            while not stop.is_set():
                began = time.monotonic()
                try:
                    await self._one_log(serve, watch, stop)
                except LogChanged as change:
                    self._metrics.retries.labels(self._role, "log_changed").inc()
                    log.warning("log_changed", role=self._role, change=str(change))
                except TopicMissing as missing:
                    await self._topic_missing(missing)
                except (BrokerAway, KafkaError, ArchiveUnavailable, LogLeft, TimeoutError, OSError) as error:
                    self._failed(error)
                if time.monotonic() - began > MISSING_SECONDS:
                    backoff.reset()
                await backoff.wait(stop)
        finally:
            self.problem = f"{self._role} has stopped"
            await watch.close()

    async def _one_log(self, serve: Serve, watch: TopicWatch, stop: asyncio.Event) -> None:
        state = await watch.look()
        self._seen, self._missing_since = True, None
        number = await self._archive.log_number(state.identity)
        group = f"{self._settings.group_prefix}-{self._role}" if self._settings.consumer_groups else None
        reader = LogReader(self._settings, watch, state, group=group, most=self._most, on_share=self._shared)
        try:
            if await _started(reader, stop):
                self._opened(state, number)
                await serve(reader, number, stop)
        finally:
            await reader.stop()

    def _opened(self, state: LogState, number: int) -> None:
        self.problem = None
        identity = state.identity
        log.info(
            "log_opened",
            role=self._role,
            log=number,
            topic=identity.topic,
            cluster_id=identity.cluster_id,
            topic_id=identity.topic_id,
            partitions=state.partitions,
        )

    def _shared(self, partitions: list[int]) -> None:
        """A rebalance of the group has given this process these partitions."""
        self._metrics.rebalances.labels(self._role).inc()
        log.info("partitions_assigned", role=self._role, partitions=partitions)

    def _failed(self, error: Exception) -> None:
        part = "archive" if isinstance(error, ArchiveUnavailable) else "kafka"
        self._metrics.retries.labels(self._role, part).inc()
        sentence = f"{self._role}: {str(error) or type(error).__name__}"
        if self.problem != sentence:
            makes_it = isinstance(error, TopicMissing) and not self._seen and self._settings.create_topics
            tell = log.info if makes_it else log.warning
            tell("feed_interrupted", role=self._role, part=part, error=repr(error))
        self.problem = sentence

    async def _topic_missing(self, missing: TopicMissing) -> None:
        """Make the topic: at once at the start, later only where nobody else does it within some seconds."""
        self._failed(missing)
        if self._missing_since is None:
            self._missing_since = time.monotonic()
        if self._seen and time.monotonic() - self._missing_since < MISSING_SECONDS:
            return
        try:
            await ensure_topics(self._settings)
            self._seen = True
        except BrokerAway as error:
            self._failed(error)


async def _started(reader: LogReader, stop: asyncio.Event) -> bool:
    """Start the reader; False when the stop came first."""
    starting = asyncio.create_task(reader.start())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            await starting
            return True
        return False
    finally:
        for task in (starting, stopping):
            task.cancel()
        await asyncio.gather(starting, stopping, return_exceptions=True)
