"""Ingest on real services: Kafka to Redis, exactly once, whatever the records are and whoever is away."""

from collections.abc import AsyncIterator

import pytest

from server.settings import Settings
from tests.flow.feeds import Flow, open_flow


@pytest.fixture
async def flow(kafka_bootstrap: str, topic: str, redis_url: str, database_url: str) -> AsyncIterator[Flow]:
    settings = Settings(
        kafka_bootstrap=kafka_bootstrap,
        topic=topic,
        redis_url=redis_url,
        database_url=database_url,
        consumer_groups=False,
    )
    async with open_flow(settings) as flow:
        yield flow


async def test_a_result_in_kafka_is_on_the_board_and_in_postgresql_a_moment_later(flow: Flow) -> None:
    season = await flow.season()
    flow.persist()
    flow.ingest()
    await flow.send([flow.record(season, 7, 100), flow.record(season, 8, 250)])
    await flow.on_board(season, {7: 100, 8: 250})
    await flow.stored(season, 2)
