"""What happens to a log on Apache Kafka: made again, trimmed, written in transactions, away for a while."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.records_to_delete import RecordsToDelete

from server.embedded.tansu import create_topic
from server.settings import Settings
from tests import services
from tests.flow.boards import make_season
from tests.flow.feeds import Flow, open_flow
from tests.waiting import until

PARTITIONS = range(4)


@pytest.fixture
def apache_settings(
    apache_kafka_bootstrap: str, apache_topic: str, redis_url: str, database_url: str
) -> Settings:
    return Settings(
        kafka_bootstrap=apache_kafka_bootstrap,
        topic=apache_topic,
        topic_partitions=4,
        redis_url=redis_url,
        database_url=database_url,
        consumer_groups=False,
    )


@pytest.fixture
async def flow(apache_settings: Settings) -> AsyncIterator[Flow]:
    async with open_flow(apache_settings) as flow:
        yield flow


@pytest.fixture
async def admin(apache_kafka_bootstrap: str) -> AsyncIterator[AIOKafkaAdminClient]:
    client = AIOKafkaAdminClient(bootstrap_servers=apache_kafka_bootstrap)
    await client.start()
    yield client
    await client.close()


@pytest.fixture
def own_apache(place: Path) -> Iterator[services.ApacheKafka]:
    """An Apache Kafka of the test's own: to stop and start."""
    services.ApacheKafka.require()
    server = services.ApacheKafka(place / "kafka")
    services.run(server.start())
    yield server
    server.kill()


async def points(flow: Flow, season_points: int) -> bool:
    seasons = await flow.archive.seasons()
    return sum((await flow.points(seasons[0])).values()) == season_points


async def test_a_topic_made_again_is_a_new_log_that_both_follow(
    flow: Flow, admin: AIOKafkaAdminClient
) -> None:
    season = await flow.season(make_season("sum"))
    flow.persist()
    ingest = flow.ingest()
    await flow.opened(ingest, season)
    await flow.send([flow.record(season, number, 1) for number in range(200)])
    await until(lambda: points(flow, 200))
    await flow.stored(season, 200)
    first = await flow.log_number()
    await admin.delete_topics([flow.settings.topic])
    await until(lambda: "no topic" in (ingest.problem or ""))
    await create_topic(flow.settings.kafka_bootstrap or "", flow.settings.topic, 4)
    await until(lambda: ingest.problem is None, within=20)
    await flow.opened(ingest, season)
    assert await flow.log_number() != first
    await flow.send([flow.record(season, number, 1) for number in range(300)])
    await until(lambda: points(flow, 500), within=20)
    await flow.stored(season, 500)
    assert await flow.points(season) == await flow.totals(season)


async def test_a_board_below_the_logs_start_is_rebuilt_and_not_read_on(
    flow: Flow, admin: AIOKafkaAdminClient
) -> None:
    season = await flow.season(make_season("sum"))
    flow.persist()
    ingest = flow.ingest()
    await flow.opened(ingest, season)
    await flow.send([flow.record(season, number, 1) for number in range(100)])
    await until(lambda: points(flow, 100))
    await flow.kill(ingest)
    await flow.send([flow.record(season, number, 1) for number in range(100)])
    await flow.stored(season, 200)
    kept = await flow.archive.next_offsets(await flow.log_number())
    await trim(admin, flow, kept)
    flow.lost.clear()
    again = flow.ingest()
    await flow.opened(again, season)
    assert flow.lost
    await flow.send([flow.record(season, number, 1) for number in range(100)])
    await until(lambda: points(flow, 300))
    await flow.stored(season, 300)
    assert await flow.points(season) == await flow.totals(season)


async def test_records_that_were_gone_before_persist_came_are_counted_as_lost(
    flow: Flow, admin: AIOKafkaAdminClient
) -> None:
    season = await flow.season(make_season("sum"))
    persist = flow.persist()
    await flow.send([flow.record(season, number, 1) for number in range(100)])
    await flow.stored(season, 100)
    await flow.stop(persist)
    await flow.send([flow.record(season, number, 1) for number in range(60)])
    ends = {number: RecordsToDelete(-1) for number in PARTITIONS}
    await admin.delete_records(
        {TopicPartition(flow.settings.topic, number): before for number, before in ends.items()}
    )
    await flow.send([flow.record(season, number, 1) for number in range(40)])
    flow.persist()
    await flow.stored(season, 140)
    assert flow.metric("lost_records_total", role="persist") == 60


async def test_postgresql_passes_over_what_is_gone_though_nothing_follows_and_boards_are_reported(
    flow: Flow, admin: AIOKafkaAdminClient
) -> None:
    season = await flow.season(make_season("sum"))
    persist = flow.persist()
    await flow.send([flow.record(season, number, 1) for number in range(100)])
    await flow.stored(season, 100)
    await flow.stop(persist)
    await flow.send([flow.record(season, number, 1) for number in range(60)])
    await trim(admin, flow, dict.fromkeys(PARTITIONS, -1))
    log = await flow.log_number()
    flow.persist()

    async def passed() -> bool:
        return sum((await flow.archive.next_offsets(log)).values()) == 160

    await until(passed)
    assert set(flow.reported) == {season.season_id}
    assert await flow.count(season) == 100


async def trim(admin: AIOKafkaAdminClient, flow: Flow, starts: dict[int, int]) -> None:
    """Let the log begin at these offsets, as retention would."""
    await admin.delete_records(
        {TopicPartition(flow.settings.topic, number): RecordsToDelete(at) for number, at in starts.items()}
    )


async def test_results_of_an_aborted_transaction_do_not_count_and_its_marks_are_no_lag_b9(flow: Flow) -> None:
    season = await flow.season(make_season("sum"))
    persist, ingest = flow.persist(), flow.ingest()
    await flow.opened(ingest, season)
    async with AIOKafkaProducer(
        bootstrap_servers=flow.settings.kafka_bootstrap, transactional_id="game"
    ) as game:
        for player, kept in ((7, True), (8, False), (9, True)):
            await game.begin_transaction()
            key, value, *_ = flow.record(season, player, 5)
            await game.send_and_wait(flow.settings.topic, value, key, partition=0)
            await (game.commit_transaction() if kept else game.abort_transaction())
    await flow.on_board(season, {7: 5, 9: 5})
    assert (await ingest.drained(), await persist.drained()) == (0, 0)
    assert await flow.totals(season) == {7: 5, 9: 5}

    def shown() -> list[float]:
        return [flow.metric("lag_records", role=role, partition="0") for role in ("ingest", "persist")]

    await until(lambda: shown() == [0, 0])
    applied = await flow.boards.applied(season.season_id)
    assert applied is not None
    assert applied.offsets[0] == 6  # three records, three marks


async def test_brokers_that_were_all_down_are_read_on_when_they_are_back_b5(
    apache_settings: Settings, own_apache: services.ApacheKafka
) -> None:
    settings = apache_settings.model_copy(
        update={"kafka_bootstrap": own_apache.address, "topic": "results", "consumer_groups": True}
    )
    async with open_flow(settings) as flow:
        season = await flow.season(make_season("sum"))
        persist, ingest = flow.persist(), flow.ingest()
        await flow.opened(ingest, season)
        await flow.send([flow.record(season, number, 1) for number in range(100)])
        await until(lambda: points(flow, 100))
        first = await flow.log_number()
        await asyncio.to_thread(services.run, own_apache.stop())
        await until(lambda: "broker" in (ingest.problem or "") and "broker" in (persist.problem or ""))
        await asyncio.to_thread(services.run, own_apache.start())
        await flow.send([flow.record(season, number, 1) for number in range(10)])
        await until(lambda: points(flow, 110), within=60)
        await until(lambda: ingest.problem is None and persist.problem is None)
        assert await flow.log_number() == first
        await flow.stored(season, 110)
