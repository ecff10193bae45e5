"""Where the log ends, asked again and again while brokers come and go."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiokafka.errors import KafkaError

from server.embedded.tansu import Tansu
from server.feed.ends import LogEnds
from server.feed.producer import ResultProducer
from server.metrics import Metrics
from server.settings import Settings
from tests.waiting import until


@pytest.fixture
async def ends(own_kafka: Tansu) -> AsyncIterator[LogEnds]:
    ends = LogEnds(Settings(kafka_bootstrap=own_kafka.address, topic="results", topic_partitions=4))
    yield ends
    await ends.close()


async def _send(address: str, count: int) -> None:
    producer = ResultProducer(
        Settings(kafka_bootstrap=address, topic="results", topic_partitions=4), Metrics()
    )
    await producer.start()
    for number in range(count):  # Tansu tells the start of the last batch: each record is one
        await producer.send([(b"%d" % number, b"{}")])
    await producer.stop()


async def test_a_topic_that_is_not_there_yet_has_no_ends_and_then_it_has(
    own_kafka: Tansu, ends: LogEnds
) -> None:
    assert await ends.ends() == {}

    await _send(own_kafka.address, 40)

    async def told() -> bool:
        found = await ends.ends()
        return len(found) == 4 and 36 <= sum(found.values()) <= 40

    await until(told)


async def test_after_a_broker_that_was_away_the_ends_are_those_of_the_new_one(
    own_kafka: Tansu, ends: LogEnds
) -> None:
    await _send(own_kafka.address, 20)
    await ends.ends()
    await own_kafka.stop()
    with pytest.raises((KafkaError, OSError, TimeoutError)):
        async with asyncio.timeout(2):
            await ends.ends()

    await own_kafka.start()
    await _send(own_kafka.address, 8)

    async def told() -> bool:
        try:
            return 0 < sum((await ends.ends()).values()) <= 8
        except KafkaError:
            return False

    await until(told, within=20)
