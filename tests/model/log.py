"""A list as the log: the topic, and what stands for Kafka's client in front of it.

Owns: offsets, the log's start and end, its identity, a log that is made anew. The real `LogReader` reads it
through a consumer that has no broker.
Never does: look into a record. Neighbours: `world.py` appends, `services.py` hands the reader to the roles.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import OffsetOutOfRangeError

from server.feed.identity import LogIdentity, LogState
from server.feed.reader import Fetch, LogReader
from server.settings import Settings
from tests.model.clock import Clock
from tests.model.gates import _GATE

PARTITIONS = 2
MOST_LOGS = 4  # of one schedule


@dataclass(slots=True)
class Record:
    """A record as aiokafka gives it."""

    topic: str
    partition: int
    offset: int
    key: bytes
    value: bytes
    timestamp: int


@dataclass(slots=True)
class Topic:
    """What the topic's name stands for at present: log `number`, counted from 1."""

    name: str
    number: int = 1
    records: list[list[Record]] = field(default_factory=lambda: [[] for _ in range(PARTITIONS)])
    starts: list[int] = field(default_factory=lambda: [0] * PARTITIONS)
    at_once: int = 5000  # records of a partition in one read

    @property
    def state(self) -> LogState:
        return LogState(LogIdentity("list", self.name, f"{self.number:032x}"), PARTITIONS)

    @property
    def ends(self) -> list[int]:
        return [len(records) for records in self.records]

    def append(self, partition: int, key: bytes, value: bytes, timestamp_ms: int) -> int:
        """Append a record and return its offset."""
        offset = len(self.records[partition])
        self.records[partition].append(Record(self.name, partition, offset, key, value, timestamp_ms))
        return offset

    def make_anew(self) -> None:
        """Delete the topic and create it again: another log, from offset 0."""
        self.number += 1
        self.records = [[] for _ in range(PARTITIONS)]
        self.starts = [0] * PARTITIONS

    def reset(self) -> None:
        """Begin with log 1, empty."""
        self.number = 0
        self.make_anew()
        self.at_once = 5000


class ListConsumer:
    """The part of AIOKafkaConsumer that `LogReader` uses, over a list."""

    def __init__(self, topic: Topic, clock: Clock) -> None:
        self._topic = topic
        self._clock = clock
        self._assigned: set[TopicPartition] = set()
        self._at: dict[TopicPartition, int] = {}
        self._paused: set[TopicPartition] = set()
        self._ends: dict[TopicPartition, int] = {}
        self._polled_ms: dict[TopicPartition, int] = {}

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        self._assigned = set(partitions)

    def assignment(self) -> set[TopicPartition]:
        return self._assigned

    async def start(self) -> None:
        """There is nothing to connect to."""

    async def stop(self) -> None:
        """There is nothing to close."""

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self._at[partition] = offset

    def pause(self, partition: TopicPartition) -> None:
        self._paused.add(partition)

    def resume(self, partition: TopicPartition) -> None:
        self._paused.discard(partition)

    async def position(self, partition: TopicPartition) -> int:
        return self._at[partition]

    def highwater(self, partition: TopicPartition) -> int | None:
        return self._ends.get(partition)

    last_stable_offset = highwater

    def last_poll_timestamp(self, partition: TopicPartition) -> int | None:
        return self._polled_ms.get(partition)

    async def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {each: self._topic.starts[each.partition] for each in partitions}

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {each: self._topic.ends[each.partition] for each in partitions}

    async def getmany(self, *, timeout_ms: int, max_records: int) -> dict[TopicPartition, list[Any]]:
        """What each partition that is not paused has from its position on."""
        del timeout_ms
        found = {}
        for each in self._assigned - self._paused:
            records, at = self._topic.records[each.partition], self._at[each]
            if at < self._topic.starts[each.partition] or at > len(records):
                raise OffsetOutOfRangeError({each: at})
            most = min(max_records, self._topic.at_once)
            self._ends[each] = len(records)
            self._polled_ms[each] = int(self._clock.time() * 1000)
            if some := records[at : at + most]:
                found[each] = some
                self._at[each] = at + len(some)
        return found


class ListReader(LogReader):
    """The real reader over a list; each read is a gate."""

    topic: Topic
    clock: Clock

    def _client(self) -> ListConsumer:
        return ListConsumer(self.topic, self.clock)

    def _waiting(self) -> list[int]:
        return []  # every partition is asked for at each read

    async def stop(self) -> None:
        """There is nothing to close."""

    async def read(self, within: float) -> list[Fetch]:
        gate = _GATE.get()
        if gate is not None:
            await gate.stand("read")
        return await super().read(within)


class ListWatch:
    """Stands for `TopicWatch`: which log the topic is now."""

    topic: Topic

    def __init__(self, bootstrap: str, topic: str) -> None:
        del bootstrap, topic

    async def look(self) -> LogState:
        return self.topic.state

    async def close(self) -> None:
        """There is nothing to close."""


class Rejected:
    """Stands for `RejectedRecords`: takes them and forgets them."""

    def __init__(self, settings: Settings, metrics: object) -> None:
        del settings, metrics

    async def write(self, refused: object) -> None:
        """Acknowledged."""

    async def stop(self) -> None:
        """There is nothing to close."""


class NoReport:
    """Stands for `Report`: lag and commits, from which nothing ever starts."""

    def __init__(self, *args: object) -> None:
        del args

    def start(self) -> None: ...

    def check(self) -> None: ...

    async def stop(self) -> None: ...

    async def commit(self) -> None: ...

    def done(self, newest_ms: int) -> None: ...
