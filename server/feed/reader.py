"""One log, read: ranges of records that are certainly of this log, from positions that its user sets.

Owns the Kafka consumer: membership in the group, positions, fetches, commits of explicit offsets, and the
check after each fetch that the topic is still the log it was. A fetch covers a range, records or none.
Never does: decide where to read, look into a record, commit by itself, or skip over what retention took.
Neighbours: `follow.py` opens one a log, `ingest.py`, `persist.py` and `catch_up.py` read with it.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from server.feed.farewell import close_consumer
from server.feed.identity import LogIdentity, LogState, TopicWatch
from server.settings import Settings

log = structlog.get_logger(__name__)

ANSWER_MS = 80  # longer than an answer is on its way
VERIFY_SECONDS = 1.0
SILENT_SECONDS = 30.0
COMMIT_SECONDS = 5.0
START_SECONDS = 120.0
METADATA_AGE_MS = 10_000


class LogChanged(Exception):  # noqa: N818  a state of the world, not a fault
    """The topic is another log now, or has another number of partitions: begin anew."""


@dataclass(slots=True)
class Fetch:
    """Records of one partition: all that its log has from `start` to below `end`."""

    partition: int
    start: int
    end: int
    records: list[Any] = field(default_factory=list)  # aiokafka's ConsumerRecord, which has no types


class LogReader:
    """Reads the partitions of one log that are this process's: all of them, or its share of the group's.

    `on_share` is told of each share that a rebalance gives, perhaps the same again, perhaps none.
    """

    def __init__(
        self,
        settings: Settings,
        watch: TopicWatch,
        state: LogState,
        *,
        group: str | None,
        most: int,
        on_share: Callable[[list[int]], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self._most = most
        self._held_ms = settings.fetch_wait_ms + ANSWER_MS  # how old an answer's news can be
        self._watch = watch
        self._state = state
        self._topic = state.identity.topic
        self._group = group
        self._on_share = on_share
        self._consumer = self._client()
        self._at: dict[int, int] = {}  # next offset of each partition that is being read
        self._fresh: set[int] = set()  # partitions that were assigned and wait for their position
        self._resting: set[int] = set()  # partitions of which nothing is fetched at present
        self._held_back: dict[int, float] = {}  # when partitions last waited for others of their broker
        self._pending: asyncio.Task[dict[TopicPartition, list[Any]]] | None = None
        self._verified = 0.0
        self._read_at = self._reading_since = time.monotonic()

    @property
    def identity(self) -> LogIdentity:
        """The log that is read."""
        return self._state.identity

    @property
    def partition_count(self) -> int:
        """Partitions that the log has in all."""
        return self._state.partitions

    async def start(self) -> None:
        """Connect and, in a group, wait for a share. Raises KafkaError."""
        if self._group is None:
            every = range(self._state.partitions)
            self._consumer.assign([self._tp(partition) for partition in every])
            await self._consumer.start()
            self._assigned(every)
        else:
            self._consumer.subscribe([self._topic], listener=_Listener(self))
            async with asyncio.timeout(START_SECONDS):
                await self._consumer.start()

    async def stop(self) -> None:
        """Leave the group and close the connections, within some seconds."""
        if self._pending is not None:
            self._pending.cancel()
            await asyncio.gather(self._pending, return_exceptions=True)
        await close_consumer(self._consumer)

    def holds(self, partition: int) -> bool:
        """Whether the partition is this process's."""
        return self._tp(partition) in self._consumer.assignment()

    @property
    def has_fresh(self) -> bool:
        """Whether partitions have come to this process that wait for their position."""
        return bool(self._fresh)

    def take_fresh(self) -> set[int]:
        """Partitions that have come to this process and are not read before `begin` names a position."""
        fresh, self._fresh = self._fresh, set()
        return fresh

    def begin(self, partition: int, offset: int) -> None:
        """Read the partition from `offset` on; one that has meanwhile gone is left alone."""
        try:
            self._consumer.seek(self._tp(partition), offset)
            self._consumer.resume(self._tp(partition))
        except IllegalStateError:
            return
        self._at[partition] = offset
        self._resting.discard(partition)

    def steer(self, partition: int, offset: int | None) -> None:
        """Let the partition be read from `offset` next, if it is not anyway; None: fetch nothing of it."""
        if offset is None:
            if self.holds(partition):
                self._consumer.pause(self._tp(partition))
                self._resting.add(partition)
        elif self._at.get(partition) != offset or partition in self._resting:
            self.begin(partition, offset)

    def at(self, partition: int) -> int | None:
        """Where the partition is read next; None: it is not this process's, or has no position yet."""
        return self._at.get(partition)

    def end(self, partition: int) -> int | None:
        """Where the log ended at the last fetch, as far as transactions are complete; None: not known yet.

        It is the broker's word in the fetch itself: what Tansu says of "latest" elsewhere is too low.
        """
        if not self.holds(partition):
            return None
        stable = self._consumer.last_stable_offset(self._tp(partition))
        end: int | None = self._consumer.highwater(self._tp(partition))
        return stable if end is not None and stable is not None and 0 <= stable <= end else end

    def heard_ago(self, partition: int) -> float | None:
        """Seconds since what `end` says was true, at least; None before the first answer."""
        answered_ms: int | None = None
        if self.holds(partition):
            answered_ms = self._consumer.last_poll_timestamp(self._tp(partition))
        if answered_ms is None:
            return None
        return max(0, time.time() * 1000 - answered_ms + self._held_ms) / 1000

    def heard_since(self, partition: int, then: float) -> bool:
        """Whether a fetch that was sent after `then` (Unix seconds) has been answered."""
        if not self.holds(partition):
            return False
        answered_ms: int | None = self._consumer.last_poll_timestamp(self._tp(partition))
        return answered_ms is not None and answered_ms > then * 1000 + self._held_ms

    async def starts(self, partitions: Iterable[int]) -> dict[int, int]:
        """The first offset that the log still has, by partition. Raises KafkaError."""
        wanted = [self._tp(partition) for partition in partitions]
        found = await self._consumer.beginning_offsets(wanted) if wanted else {}
        return {tp.partition: offset for tp, offset in found.items()}

    async def ends(self, partitions: Iterable[int]) -> dict[int, int]:
        """Where the log ends, by partition, or a bit before, as the broker lists it. Raises KafkaError."""
        found = await self._consumer.end_offsets([self._tp(partition) for partition in partitions])
        return {tp.partition: offset for tp, offset in found.items()}

    async def read(self, within: float) -> list[Fetch]:
        """Return what comes within so many seconds, perhaps nothing; several ranges, one a partition.

        Raises LogChanged before anything of another log gets out, BrokerAway and KafkaError when the consumer
        is of no more use.
        """
        if self._pending is None:
            wanted = self._consumer.getmany(timeout_ms=int(within * 1000), max_records=self._most)
            # never cancelled: aiokafka would then take the consumer for one that always reads
            self._pending = asyncio.create_task(wanted)
        done, _ = await asyncio.wait({self._pending}, timeout=within + 0.1)
        records: dict[TopicPartition, list[Any]] = {}
        if done:
            reading, self._pending = self._pending, None
            records = reading.result()
        fetches = await self._ranges(records)
        self._check_silence()
        if fetches or time.monotonic() - self._verified > VERIFY_SECONDS:
            await self.verify()
        return fetches

    async def commit(self, offsets: dict[int, int]) -> None:
        """Tell the group how far everything is done: explicit offsets, of partitions still held alone.

        A group that has rebalanced meanwhile does not take them, which does no harm.
        """
        held = {self._tp(partition): at for partition, at in offsets.items() if self.holds(partition)}
        if self._group is None or not held:
            return
        try:
            async with asyncio.timeout(COMMIT_SECONDS):
                await self._consumer.commit(held)
        except (KafkaError, TimeoutError) as error:
            log.info("not_committed", group=self._group, offsets=offsets, error=repr(error))

    def _check_silence(self) -> None:
        """Raise KafkaError for a partition that was not told of for long though it was asked for throughout.

        aiokafka may wait for ever on a broker that went and came back; a new consumer does not.
        """
        now = time.monotonic()
        self._held_back |= dict.fromkeys(self._waiting(), now)
        if now - self._read_at > 10 * VERIFY_SECONDS:  # nobody read for a while, so nothing was fetched
            self._reading_since = now
        self._read_at = now
        if now - self._reading_since < SILENT_SECONDS:
            return
        for partition in self._at.keys() - self._resting:
            ago = self.heard_ago(partition)
            waited = now - self._held_back.get(partition, 0.0) < SILENT_SECONDS
            if not waited and (ago is None or ago > SILENT_SECONDS):
                raise KafkaError(f"the broker did not tell of partition {partition} for {SILENT_SECONDS:g} s")

    def _waiting(self) -> list[int]:
        """Partitions that aiokafka does not ask for: it has unread records of their broker."""
        leader = self._consumer._client.cluster.leader_for_partition
        busy = {leader(tp) for tp in self._consumer._fetcher._records}
        return [partition for partition in self._at if leader(self._tp(partition)) in busy]

    async def verify(self) -> None:
        """Ask the broker whether the topic is still this log. Raises LogChanged, BrokerAway, TopicMissing."""
        state = await self._watch.look()
        self._verified = time.monotonic()
        if state != self._state:
            raise LogChanged(f"topic {self._topic} was {self._state} and is {state}")

    async def _ranges(self, records: dict[TopicPartition, list[Any]]) -> list[Fetch]:
        fetches = []
        for partition, start in list(self._at.items()):
            tp = self._tp(partition)
            if not self.holds(partition):
                continue
            end = await self._consumer.position(tp)  # beyond the last record where a transaction ended
            if end == start or self._at.get(partition) != start:
                continue
            found = records.get(tp, [])
            if found and not start <= found[0].offset <= found[-1].offset < end:
                continue  # read before the position was set anew
            self._at[partition] = end
            fetches.append(Fetch(partition, start, end, found))
        return fetches

    def _assigned(self, partitions: Iterable[int]) -> None:
        """Hold partitions still until their position is known: the group's own is only a hint."""
        for partition in partitions:
            self._consumer.seek(self._tp(partition), 0)
            self._consumer.pause(self._tp(partition))
            self._fresh.add(partition)

    def _revoked(self) -> None:
        self._at.clear()
        self._fresh.clear()
        self._resting.clear()
        self._held_back.clear()

    def _tp(self, partition: int) -> TopicPartition:
        return TopicPartition(self._topic, partition)

    def _client(self) -> AIOKafkaConsumer:
        settings = self._settings
        if settings.kafka_bootstrap is None:
            raise KafkaError("no Kafka brokers are named (KAFKA_BOOTSTRAP_SERVERS)")
        session_ms = int(settings.session_timeout_s * 1000)
        return AIOKafkaConsumer(
            bootstrap_servers=settings.kafka_bootstrap.split(","),
            group_id=self._group,
            enable_auto_commit=False,
            auto_offset_reset="none",  # a jump over what retention took must not go unseen
            isolation_level="read_committed",
            fetch_max_wait_ms=settings.fetch_wait_ms,
            max_partition_fetch_bytes=settings.fetch_max_bytes,
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=session_ms // 4,
            rebalance_timeout_ms=session_ms,
            max_poll_interval_ms=int(settings.max_poll_interval_s * 1000),
            metadata_max_age_ms=METADATA_AGE_MS,
        )


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka ships no types
    """Keeps the reader's partitions those of the group's assignment."""

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._reader._revoked()

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        share = sorted(tp.partition for tp in assigned)
        self._reader._assigned(share)
        self._reader._on_share(share)
