"""Results into Kafka: many callers, few batches, and nobody is told "sent" before all copies have it.

Owns: the way from records to acknowledged batches: partition by key, one lane a partition that takes what has
gathered while its last batch was on the way, a bound on what waits, the delivery deadline.
Never does: touch a byte of a record. One whose delivery timed out may still arrive; game servers retry safely
all the same, since a result counts once.
Neighbours: `web` sends what was posted, `replay` and the demo send files; `lane.py` is one partition's queue.
"""

import asyncio
import itertools
from collections.abc import Sequence
from contextlib import suppress

import orjson
import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from server.core.results import MAX_PLAYER_ID, MIN_PLAYER_ID, RawResult, parse_value
from server.errors import RankcastError
from server.feed.farewell import close_producer
from server.feed.identity import BrokerAway, TopicMissing
from server.feed.lane import Lane, Part, Record
from server.feed.partitioner import partition_of
from server.feed.same_log import SameLog
from server.feed.topics import ensure_topics
from server.metrics import Metrics
from server.settings import Settings

log = structlog.get_logger(__name__)

BATCH_BYTES = 262_144
METADATA_AGE_MS = 30_000
RECONNECT_SECONDS = 0.2
ASK_SECONDS = 1.5


class ResultProducer:
    """Sends records to one topic; as many callers at once as there are."""

    def __init__(self, settings: Settings, metrics: Metrics, topic: str | None = None) -> None:
        self._settings = settings
        self._metrics = metrics
        self._topic = topic or settings.topic
        self._producer: AIOKafkaProducer | None = None
        self._same: SameLog | None = None  # only for a broker that gives no producer ids
        self._connecting = asyncio.Lock()
        self._trouble: Exception | None = None
        self._failed: str | None = None  # why the last send was not acknowledged
        self._lanes: dict[int, Lane] = {}
        self._unsent = 0
        metrics.produced.labels(self._topic, "failed")  # from the start: alerts look at its first step
        metrics.unsent.labels(self._topic).set_function(lambda: self._unsent)
        self._door = asyncio.Lock()
        self._room = asyncio.Event()
        self._keyless = itertools.count()

    async def start(self) -> None:
        """Connect; where no broker answers within the delivery timeout, the next `send` tries again."""
        try:
            async with asyncio.timeout(self._settings.delivery_timeout_s):
                await self._connected()
        except TimeoutError:
            log.warning("producer_not_connected", topic=self._topic, error=repr(self._trouble))

    async def stop(self) -> None:
        """Send what is under way, until the delivery deadline, and close."""
        waiting = [task for lane in self._lanes.values() if (task := lane.task) is not None]
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=self._settings.delivery_timeout_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._give_up()

    async def send(self, records: Sequence[Record]) -> None:
        """Send (key, value) or (key, value, headers) records; return when Kafka has acknowledged all of them.

        None as key: any partition. The bytes are untouched, b"" is a value of no bytes.
        Raises RankcastError `log_unavailable` when that takes longer than the delivery timeout (what arrived
        then is unknown), `record_too_big` for a record that the broker does not take.
        """
        try:
            async with asyncio.timeout(self._settings.delivery_timeout_s):
                await self._admitted(records)
        except (KafkaError, OSError, TimeoutError) as error:
            self._metrics.produced.labels(self._topic, "failed").inc(len(records))
            self._failed = f"Kafka did not acknowledge results: {self._trouble or error!r}"
            raise RankcastError(
                "log_unavailable",
                f"Kafka did not acknowledge {len(records)} records within "
                f"{self._settings.delivery_timeout_s:g} s ({self._trouble or error!r}); "
                "send them again, none counts twice",
            ) from error
        self._metrics.produced.labels(self._topic, "acknowledged").inc(len(records))
        self._failed = None

    async def problem(self) -> str | None:
        """Why results cannot be sent, as far as is known; a broker that failed of late is asked again."""
        if self._producer is None:
            return f"Kafka: {self._trouble}" if self._trouble is not None else None
        if self._failed is not None:
            with suppress(KafkaError, OSError, TimeoutError):
                async with asyncio.timeout(ASK_SECONDS):
                    await self._producer.client.fetch_all_metadata()
                self._failed = None
        return self._failed

    async def _admitted(self, records: Sequence[Record]) -> None:
        async with self._door:  # first come, first served
            while self._unsent and self._unsent + len(records) > self._settings.max_unsent:
                self._room.clear()
                await self._room.wait()
            self._unsent += len(records)
        try:
            await self._delivered(records)
        finally:
            self._unsent -= len(records)
            self._room.set()

    async def _delivered(self, records: Sequence[Record]) -> None:
        """Send until all of them were acknowledged by one client: another one's log may be gone by now."""
        while True:
            producer = await self._connected()
            log_then = self._same
            await self._acknowledged(producer, records)
            if self._same is log_then:
                return

    async def _acknowledged(self, producer: AIOKafkaProducer, records: Sequence[Record]) -> None:
        partitions = len(await producer.partitions_for(self._topic))
        parts = [
            (self._lane(partition), Part(own)) for partition, own in self._split(records, partitions).items()
        ]
        try:
            for lane, part in parts:
                lane.add(part)
            for _, part in parts:
                await part.delivered
        finally:
            for lane, part in parts:  # what was not yet on its way when the caller gave up never goes
                lane.discard(part)

    def _split(self, records: Sequence[Record], partitions: int) -> dict[int, list[Record]]:
        split: dict[int, list[Record]] = {}
        anywhere = next(self._keyless) % partitions
        for record in records:
            key = record[0]
            partition = anywhere if key is None else partition_of(key, partitions)
            split.setdefault(partition, []).append(record)
        return split

    def _lane(self, partition: int) -> Lane:
        if partition not in self._lanes:
            self._lanes[partition] = Lane(self._topic, partition, self._connected, self._replace)
        return self._lanes[partition]

    async def _connected(self) -> AIOKafkaProducer:
        """Return the client, connecting until the caller's deadline where there is none."""
        async with self._connecting:
            while True:
                try:
                    if self._same is not None and not await self._same.holds():
                        await self._give_up()  # it would send to a log that is gone
                    if self._producer is None:
                        await self._connect()
                    assert self._producer is not None
                    self._trouble = None
                    return self._producer
                except (BrokerAway, TopicMissing, KafkaError, OSError) as error:
                    self._trouble = error
                    await self._give_up()
                    await asyncio.sleep(RECONNECT_SECONDS)

    async def _connect(self) -> None:
        """Make the topics and a client, idempotent where the broker can do that."""
        await ensure_topics(self._settings)
        try:
            self._producer = await _started(self._settings, idempotent=True)
        except KafkaError as error:
            self._producer = await _started(self._settings, idempotent=False)  # raises where it was not that
            log.info("producer_not_idempotent", error=repr(error))
            self._same = SameLog(self._settings.kafka_bootstrap or "", self._topic)
            await self._same.holds()

    async def _replace(self, broken: AIOKafkaProducer) -> None:
        """Give a client up that will never send again; the next batch makes another one."""
        async with self._connecting:  # else a look under way would leave a connection behind
            if self._producer is broken:
                await self._give_up()

    async def _give_up(self) -> None:
        producer, self._producer = self._producer, None
        same, self._same = self._same, None
        if same is not None:
            await same.close()
        if producer is not None:
            await close_producer(producer)


async def _started(settings: Settings, *, idempotent: bool) -> AIOKafkaProducer:
    if settings.kafka_bootstrap is None:
        raise BrokerAway("no Kafka brokers are named (KAFKA_BOOTSTRAP_SERVERS)")
    producer = AIOKafkaProducer(
        bootstrap_servers=settings.kafka_bootstrap.split(","),
        acks="all",
        enable_idempotence=idempotent,
        compression_type=None if settings.compression == "none" else settings.compression,
        max_batch_size=BATCH_BYTES,
        metadata_max_age_ms=METADATA_AGE_MS,
        request_timeout_ms=int(settings.delivery_timeout_s * 1000),
    )
    if not idempotent:  # it would try again behind our back, at a broker that may be another one by then
        producer._message_accumulator._batch_ttl = 0
    try:
        await producer.start()
    except BaseException:
        await close_producer(producer)
        raise
    return producer


def replay_key(value: bytes) -> bytes | None:
    """The key for a line of a file: its player id where that can be read, else none."""
    raw = parse_value(value)
    if isinstance(raw, RawResult):
        return b"%d" % raw.player_id
    try:
        fields = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    player = fields.get("player_id", fields.get("playerId")) if isinstance(fields, dict) else None
    if type(player) is int and MIN_PLAYER_ID <= player <= MAX_PLAYER_ID:
        return b"%d" % player
    return None
