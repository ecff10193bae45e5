"""The reader of one log: what it takes for silence of a broker, and what not."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from server.feed import reader as reading
from server.feed.identity import TopicWatch
from server.feed.producer import ResultProducer
from server.feed.reader import LogReader
from server.metrics import Metrics
from server.settings import Settings
from tests.services import PARTITIONS

RECORDS = 400  # a partition
AT_ONCE = 5
SILENT_S = 2.0


@pytest.fixture
async def backlog(
    apache_kafka_bootstrap: str, apache_topic: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[LogReader]:
    """A reader of few records at once before a long log, who soon takes a partition for silent."""
    monkeypatch.setattr(reading, "SILENT_SECONDS", SILENT_S)
    settings = Settings(
        kafka_bootstrap=apache_kafka_bootstrap, topic=apache_topic, create_topics=False, fetch_wait_ms=20
    )
    producer = ResultProducer(settings, Metrics())
    await producer.send([(b"%d" % number, b"x") for number in range(PARTITIONS * RECORDS)])
    await producer.stop()
    watch = TopicWatch(apache_kafka_bootstrap, apache_topic)
    reader = LogReader(settings, watch, await watch.look(), group=None, most=AT_ONCE)
    await reader.start()
    yield reader
    await reader.stop()
    await watch.close()


async def test_partitions_that_wait_for_their_turn_in_a_backlog_are_not_silent(backlog: LogReader) -> None:
    for partition in backlog.take_fresh():
        backlog.begin(partition, 0)
    read = 0
    while read < PARTITIONS * RECORDS:
        fetches = await backlog.read(0.2)
        read += sum(len(fetch.records) for fetch in fetches)
        await asyncio.sleep(0.02)  # what is done with them takes its time
    assert read == PARTITIONS * RECORDS
