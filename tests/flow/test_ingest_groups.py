"""Several processes share the partitions: they come, go and die, and each result counts once."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.new_partitions import NewPartitions

from server.core.season import Season
from server.embedded.valkey import Valkey
from server.settings import Settings
from tests.flow.boards import make_season
from tests.flow.feeds import Flow, open_flow
from tests.waiting import until


@pytest.fixture(params=["embedded", "apache"])
def group_settings(request: pytest.FixtureRequest, redis_url: str, database_url: str) -> Settings:
    """Each broker in turn, with groups that notice a death soon."""
    embedded = request.param == "embedded"
    topic = request.getfixturevalue("topic" if embedded else "apache_topic")
    return Settings(
        kafka_bootstrap=request.getfixturevalue("kafka_bootstrap" if embedded else "apache_kafka_bootstrap"),
        topic=topic,
        group_prefix=topic,
        redis_url=redis_url,
        database_url=database_url,
        session_timeout_s=2 if embedded else 6,  # Apache Kafka takes no less
    )


@pytest.fixture
async def flow(group_settings: Settings) -> AsyncIterator[Flow]:
    async with open_flow(group_settings) as flow:
        yield flow


async def everything(flow: Flow, season: Season, points: int, *, within: float = 60) -> None:
    """Wait until the board has so many points, no more and no less."""

    async def there() -> bool:
        return sum((await flow.points(season)).values()) >= points

    await until(there, within=within)
    assert sum((await flow.points(season)).values()) == points


async def committed(flow: Flow) -> int:
    """What the group of ingest has committed, over all partitions."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=flow.settings.kafka_bootstrap, group_id=f"{flow.settings.group_prefix}-ingest"
    )
    partitions = [TopicPartition(flow.settings.topic, number) for number in range(4)]
    consumer.assign(partitions)
    await consumer.start()
    try:
        return sum([await consumer.committed(tp) or 0 for tp in partitions])
    finally:
        await consumer.stop()


async def test_processes_that_come_and_go_lose_nothing_and_count_nothing_twice_b1(flow: Flow) -> None:
    season = await flow.season(make_season("sum"))
    flow.persist()
    steady = flow.ingest()
    await flow.opened(steady, season)

    async def play() -> None:
        for number in range(1000):
            await flow.send([flow.record(season, number % 50, 1)])
            await asyncio.sleep(0.005)  # results come over a while, as they do

    playing = asyncio.create_task(play())
    while not playing.done():
        other = flow.ingest()
        await until(lambda other=other: other.open_boards or playing.done(), within=60)  # type: ignore[misc]  # a default binds it
        await flow.kill(other)
    await playing
    await everything(flow, season, 1000)


async def test_a_stop_commits_what_is_done_and_leaves_the_group_to_others_b2(flow: Flow) -> None:
    season = await flow.season(make_season("sum"))
    flow.persist()
    first = flow.ingest()
    await flow.opened(first, season)
    await flow.send([flow.record(season, number, 1) for number in range(300)])
    await everything(flow, season, 300)
    await flow.stop(first)
    assert await committed(flow) == 300
    await flow.send([flow.record(season, number, 1) for number in range(50)])
    flow.ingest()
    await everything(flow, season, 350)


async def test_results_from_before_the_first_commit_are_not_passed_over_b10(flow: Flow) -> None:
    season = await flow.season(make_season("sum"))
    await flow.send([flow.record(season, number, 1) for number in range(100)])
    flow.persist()
    first = flow.ingest()
    await everything(flow, season, 100)
    await flow.kill(first)
    await flow.send([flow.record(season, number, 1) for number in range(100)])
    flow.ingest()
    await everything(flow, season, 200)
    assert await flow.totals(season) == dict.fromkeys(range(100), 2)


@pytest.mark.parametrize("group_settings", ["apache"], indirect=True)  # the embedded one keeps its members
async def test_a_process_that_redis_held_up_beyond_its_poll_interval_comes_back_b7(
    group_settings: Settings, own_valkey: Valkey
) -> None:
    changes: dict[str, object] = {"redis_url": own_valkey.address, "max_poll_interval_s": 2}
    async with open_flow(group_settings.model_copy(update=changes)) as flow:
        season = await flow.season(make_season("sum"))
        flow.persist()
        ingest = flow.ingest()
        await flow.opened(ingest, season)
        await flow.send([flow.record(season, number, 1) for number in range(100)])
        await everything(flow, season, 100)
        own_valkey.pause()
        try:
            await flow.send([flow.record(season, number, 1) for number in range(100)])
            await until(lambda: nobody_in_group(flow), within=60)
        finally:
            own_valkey.resume()
        await everything(flow, season, 200)


async def nobody_in_group(flow: Flow) -> bool:
    """Whether ingest's group has no member."""
    admin = AIOKafkaAdminClient(bootstrap_servers=flow.settings.kafka_bootstrap)
    await admin.start()
    try:
        (answer,) = await admin.describe_consumer_groups([f"{flow.settings.group_prefix}-ingest"])
        return not answer.groups[0][5]
    finally:
        await admin.close()


async def test_a_partition_that_is_added_is_read_from_its_first_record_b10(
    apache_kafka_bootstrap: str, apache_topic: str, redis_url: str, database_url: str
) -> None:
    settings = Settings(
        kafka_bootstrap=apache_kafka_bootstrap,
        topic=apache_topic,
        group_prefix=apache_topic,
        redis_url=redis_url,
        database_url=database_url,
    )
    async with open_flow(settings) as flow:
        season = await flow.season(make_season("sum"))
        flow.persist()
        await flow.opened(flow.ingest(), season)
        admin = AIOKafkaAdminClient(bootstrap_servers=apache_kafka_bootstrap)
        await admin.start()
        try:
            await admin.create_partitions({apache_topic: NewPartitions(6)})
        finally:
            await admin.close()
        async with AIOKafkaProducer(bootstrap_servers=apache_kafka_bootstrap) as sender:
            for number in range(20):
                key, value, *_ = flow.record(season, number, 1)
                await sender.send_and_wait(apache_topic, value, key, partition=5)
        await everything(flow, season, 20)
        await flow.stored(season, 20)
