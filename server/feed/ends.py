"""Where the topic's log ends: for whoever tells how far a board is behind without reading the log itself.

Owns one Kafka client in no group, opened when first asked and again after a failure. What Tansu says of its
ends is a bit too low (the start of the last batch), so a lag made from it is about right and never too high.
Never reads a record. Neighbours: `web` asks for its status calls.
"""

import asyncio
import contextlib

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from server.settings import Settings

_STOP_SECONDS = 1.0


class LogEnds:
    """One caller at a time; close it in the end."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._consumer: AIOKafkaConsumer | None = None

    async def ends(self) -> dict[int, int]:
        """The next offset of every partition of the topic. Raises KafkaError, OSError or TimeoutError."""
        try:
            consumer = await self._opened()
            numbers = consumer.partitions_for_topic(self._settings.topic) or ()
            places = [TopicPartition(self._settings.topic, number) for number in sorted(numbers)]
            found = await consumer.end_offsets(places) if places else {}
        except BaseException:
            await self.close()  # it may wait for ever for what it has lost
            raise
        if not found:
            await self.close()  # it learns of a new topic when it is opened
        return {place.partition: offset for place, offset in found.items()}

    async def _opened(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            self._consumer = AIOKafkaConsumer(
                bootstrap_servers=(self._settings.kafka_bootstrap or "").split(","), enable_auto_commit=False
            )
            await self._consumer.start()
            await asyncio.sleep(0)  # aiokafka fails to stop a client whose own tasks have not begun
        return self._consumer

    async def close(self) -> None:
        """Close the client; where no broker answers, all the same."""
        consumer, self._consumer = self._consumer, None
        if consumer is None:
            return
        with contextlib.suppress(KafkaError, OSError, TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):
                await consumer.stop()
