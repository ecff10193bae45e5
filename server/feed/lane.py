"""One partition's queue of records to send: a batch at a time, each made of all that has gathered meanwhile.

Owns: the order within a partition, cutting batches, telling each caller when its part has been acknowledged.
Never does: choose partitions or deadlines. Neighbour: `producer.py` holds one lane a partition.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError, RecordListTooLargeError, UnknownError
from aiokafka.producer.message_accumulator import BatchBuilder

from server.errors import RankcastError

AGAIN_SECONDS = 0.1
_ALONE_BYTES = 500_000  # nothing follows such a record in its batch: the broker may refuse it, and only it

Headers = list[tuple[str, bytes]]
RecordWithHeaders = tuple[bytes | None, bytes | None, Headers]
Record = tuple[bytes | None, bytes | None] | RecordWithHeaders


def may_pass(error: KafkaError) -> bool:
    """Whether sending again may help: what a broker cannot name (-1) may be over in a moment."""
    return error.retriable or isinstance(error, UnknownError)


class Part:
    """One caller's records for one partition; `delivered` is done when the last one is acknowledged."""

    __slots__ = ("before", "delivered", "on_the_way", "records")

    def __init__(self, records: list[Record]) -> None:
        self.records = records
        self.on_the_way = 0  # how many of them were put into batches
        self.before = 0  # how many were, when the last batch began
        self.delivered: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class Lane:
    """The queue of one partition. Its task lives while there is something to send."""

    def __init__(
        self,
        topic: str,
        partition: int,
        connect: Callable[[], Awaitable[AIOKafkaProducer]],
        replace: Callable[[AIOKafkaProducer], Awaitable[None]],
    ) -> None:
        self._topic = topic
        self._partition = partition
        self._connect = connect
        self._replace = replace
        self._queue: deque[Part] = deque()
        self.task: asyncio.Task[None] | None = None

    def add(self, part: Part) -> None:
        """Put the part in line."""
        self._queue.append(part)
        if self.task is None:
            self.task = asyncio.create_task(self._run(), name=f"lane {self._partition}")

    def discard(self, part: Part) -> None:
        """Take a part out of the line that nobody waits for any more."""
        if part in self._queue:
            self._queue.remove(part)
        part.delivered.cancel()

    async def _run(self) -> None:
        try:
            while self._queue:
                await self._send_batch()
        except asyncio.CancelledError:
            self._fail(list(self._queue), KafkaError("the producer has stopped"))
            raise
        except Exception as error:  # a fault of ours belongs to the callers, who tell it loudly
            self._fail(list(self._queue), error)
        finally:
            self.task = None

    async def _send_batch(self) -> None:
        producer = await self._connect()
        batch = producer.create_batch()
        taken = self._fill(batch)
        try:
            await (await producer.send_batch(batch, self._topic, partition=self._partition))
        except (MessageSizeTooLargeError, RecordListTooLargeError) as error:
            reason = f"Kafka does not take a record of {batch.size()} bytes: {error}"
            self._fail(taken, RankcastError("record_too_big", reason))
            await self._replace(producer)  # the refused batch took a number that the broker now waits for
        except KafkaError as error:
            if may_pass(error):  # until the callers' deadlines, who then take their parts out of the line
                for part in taken:
                    part.on_the_way = part.before
            else:
                self._fail(taken, error)
            await self._replace(producer)
            await asyncio.sleep(AGAIN_SECONDS)
        else:
            self._acknowledge(taken)

    def _fill(self, batch: BatchBuilder) -> list[Part]:
        """Put as many records into the batch as it takes; return the parts that they are of."""
        append = batch.append
        taken = []
        for part in self._queue:
            taken.append(part)
            part.before = part.on_the_way
            for key, value, *rest in part.records[part.on_the_way :]:
                if append(timestamp=None, key=key, value=value, headers=rest[0] if rest else []) is None:
                    return taken
                part.on_the_way += 1
                if value is not None and len(value) >= _ALONE_BYTES:
                    return taken
        return taken

    def _acknowledge(self, taken: Iterable[Part]) -> None:
        for part in taken:
            if part.on_the_way == len(part.records):
                self._leave(part)
                if not part.delivered.done():
                    part.delivered.set_result(None)

    def _fail(self, taken: Iterable[Part], error: Exception) -> None:
        for part in taken:
            self._leave(part)
            if not part.delivered.done():
                part.delivered.set_exception(error)

    def _leave(self, part: Part) -> None:
        if part in self._queue:
            self._queue.remove(part)
