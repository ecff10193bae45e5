"""Records into Kafka: acknowledged or refused, byte for byte, each player in one partition and in order."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaConnectionError, KafkaError, TopicAuthorizationFailedError, UnknownError

from server.embedded.process import free_port
from server.embedded.tansu import Tansu
from server.errors import RankcastError
from server.feed.identity import BrokerAway, TopicMissing, TopicWatch
from server.feed.lane import Record, may_pass
from server.feed.partitioner import partition_of
from server.feed.producer import ResultProducer, replay_key
from server.feed.topics import ensure_topics
from server.metrics import Metrics
from server.settings import Settings
from tests.waiting import until


@pytest.fixture(params=["embedded", "apache"])
def settings(request: pytest.FixtureRequest) -> Settings:
    """Each of the brokers in turn, with a topic that is not there yet."""
    name = "kafka_bootstrap" if request.param == "embedded" else "apache_kafka_bootstrap"
    return Settings(
        kafka_bootstrap=request.getfixturevalue(name),
        topic=f"results-{uuid.uuid4().hex}",
        topic_partitions=4,
        delivery_timeout_s=20,
    )


@asynccontextmanager
async def producing(settings: Settings, metrics: Metrics) -> AsyncIterator[ResultProducer]:
    """A producer that is stopped however its test ends, so that the next one does not pay for it."""
    producer = ResultProducer(settings, metrics)
    try:
        yield producer
    finally:
        await producer.stop()


@pytest.fixture
async def producer(settings: Settings) -> AsyncIterator[ResultProducer]:
    producer = ResultProducer(settings, Metrics())
    await producer.start()
    yield producer
    await producer.stop()


async def read_all(settings: Settings, count: int) -> list[tuple[int, bytes | None, bytes | None]]:
    """(partition, key, value) of all records of the topic, in each partition's order."""
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.kafka_bootstrap, auto_offset_reset="earliest")
    found: list[tuple[int, bytes | None, bytes | None]] = []
    await consumer.start()
    try:
        consumer.assign([TopicPartition(settings.topic, number) for number in range(4)])

        async def enough() -> bool:
            for tp, records in (await consumer.getmany(timeout_ms=50)).items():
                found.extend((tp.partition, each.key, each.value) for each in records)
            return len(found) >= count

        await until(enough)
    finally:
        await consumer.stop()
    return found


async def test_what_was_acknowledged_is_there_byte_for_byte(
    settings: Settings, producer: ResultProducer
) -> None:
    values: list[bytes | None] = [b'{"points": 1}', b"", b"\xff\xfe\x00", b" not json\n", None]
    sent: list[Record] = [(b"7", value) for value in values]
    await producer.send(sent)
    found = await read_all(settings, len(values))
    assert [(key, value) for _, key, value in found] == [(b"7", value) for value in values]


async def test_a_player_has_one_partition_and_keeps_the_order(
    settings: Settings, producer: ResultProducer
) -> None:
    players = [number % 20 for number in range(400)]
    sends = [producer.send([(b"%d" % player, b"%d" % at)]) for at, player in enumerate(players)]
    await asyncio.gather(*sends)
    found = await read_all(settings, len(players))
    assert all(partition == partition_of(key or b"", 4) for partition, key, _ in found)
    for player in set(players):
        mine = [int(value or b"") for _, key, value in found if key == b"%d" % player]
        assert mine == [at for at, each in enumerate(players) if each == player]


async def test_records_without_a_key_spread_over_the_partitions(
    settings: Settings, producer: ResultProducer
) -> None:
    for number in range(8):
        await producer.send([(None, b"%d" % number)])
    assert {partition for partition, _, _ in await read_all(settings, 8)} == {0, 1, 2, 3}


@pytest.mark.parametrize("compression", ["gzip", "lz4", "snappy", "zstd"])
async def test_compressed_records_are_read_as_they_were(settings: Settings, compression: str) -> None:
    async with producing(settings.model_copy(update={"compression": compression}), Metrics()) as producer:
        await producer.send([(b"7", b"%d" % number * 50) for number in range(100)])
    assert [value for _, _, value in await read_all(settings, 100)] == [b"%d" % at * 50 for at in range(100)]


async def test_nothing_to_send_is_sent_at_once(producer: ResultProducer) -> None:
    await producer.send([])


async def test_more_than_may_wait_is_sent_all_the_same(settings: Settings) -> None:
    async with producing(settings.model_copy(update={"max_unsent": 10}), Metrics()) as producer:
        await asyncio.gather(*[producer.send([(b"%d" % number, b"x")] * 25) for number in range(8)])
    assert len(await read_all(settings, 200)) == 200


async def test_missing_topics_are_made_and_present_ones_left_alone(settings: Settings) -> None:
    await ensure_topics(settings)
    await ensure_topics(settings.model_copy(update={"topic_partitions": 9}))
    for topic, partitions in ((settings.topic, 4), (f"{settings.topic}.rejected", 1)):
        watch = TopicWatch(settings.kafka_bootstrap or "", topic)
        try:
            await until(partial(_has_partitions, watch, partitions))
        finally:
            await watch.close()


async def _has_partitions(watch: TopicWatch, partitions: int) -> bool:
    """A broker may learn of a topic a moment after it was made."""
    try:
        return (await watch.look()).partitions == partitions
    except TopicMissing:
        return False


async def test_topics_are_not_made_against_the_settings(settings: Settings) -> None:
    silent = settings.model_copy(update={"create_topics": False})
    await ensure_topics(silent)
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.kafka_bootstrap)
    await admin.start()
    try:
        assert settings.topic not in await admin.list_topics()
    finally:
        await admin.close()


async def test_the_brokers_clock_stamps_the_records(apache_kafka_bootstrap: str) -> None:
    settings = Settings(kafka_bootstrap=apache_kafka_bootstrap, topic=f"results-{uuid.uuid4().hex}")
    await ensure_topics(settings)
    admin = AIOKafkaAdminClient(bootstrap_servers=apache_kafka_bootstrap)
    await admin.start()
    try:
        asked = ConfigResource(ConfigResourceType.TOPIC, settings.topic)
        (answer,) = await admin.describe_configs([asked])
    finally:
        await admin.close()
    configs = {name: value for name, value, *_ in answer.resources[0][4]}
    assert configs["message.timestamp.type"] == "LogAppendTime"


async def test_a_record_that_the_broker_does_not_take_is_refused_alone(apache_kafka_bootstrap: str) -> None:
    settings = Settings(
        kafka_bootstrap=apache_kafka_bootstrap, topic=f"results-{uuid.uuid4().hex}", topic_partitions=4
    )
    async with producing(settings, Metrics()) as producer:
        before, refused, after = await asyncio.gather(
            producer.send([(b"1", b"before")]),
            producer.send([(b"1", b"x" * 2_000_000)]),
            producer.send([(b"1", b"after")]),
            return_exceptions=True,
        )
    assert (before, after) == (None, None)
    assert isinstance(refused, RankcastError)
    assert refused.code == "record_too_big"
    assert [value for _, _, value in await read_all(settings, 2)] == [b"before", b"after"]


async def test_without_a_broker_the_sender_is_told_in_time_and_can_try_again() -> None:
    settings = Settings(kafka_bootstrap=f"127.0.0.1:{free_port()}", delivery_timeout_s=0.5)
    metrics = Metrics()
    async with producing(settings, metrics) as producer:
        await producer.start()
        with pytest.raises(RankcastError, match="send them again") as told:
            await producer.send([(b"1", b"x")])
    assert told.value.code == "log_unavailable"
    assert told.value.kind.retry
    labels = {"topic": settings.topic, "outcome": "failed"}
    assert metrics.registry.get_sample_value("rankcast_produced_total", labels) == 1


async def test_a_broker_that_freezes_and_thaws_gets_what_was_sent_meanwhile(own_kafka: Tansu) -> None:
    settings = Settings(kafka_bootstrap=own_kafka.address, topic_partitions=4, delivery_timeout_s=30)
    async with producing(settings, Metrics()) as producer:
        await producer.send([(b"1", b"before")])
        own_kafka.pause()
        sending = asyncio.create_task(producer.send([(b"1", b"meanwhile")]))
        await asyncio.sleep(0)
        own_kafka.resume()
        await sending
    assert [value for _, _, value in await read_all(settings, 2)] == [b"before", b"meanwhile"]


async def test_a_broker_that_does_not_acknowledge_is_a_problem_until_it_answers_again(
    own_kafka: Tansu,
) -> None:
    settings = Settings(kafka_bootstrap=own_kafka.address, topic="results", delivery_timeout_s=1)
    async with producing(settings, Metrics()) as producer:
        await producer.start()
        assert await producer.problem() is None
        own_kafka.pause()
        try:
            with pytest.raises(RankcastError, match="did not acknowledge"):
                await producer.send([(b"1", b"x")])
            assert "did not acknowledge" in (await producer.problem() or "")
        finally:
            own_kafka.resume()

        async def over() -> bool:
            return await producer.problem() is None

        await until(over, within=20)


async def test_after_a_restart_of_the_broker_results_go_on(own_kafka: Tansu) -> None:
    settings = Settings(kafka_bootstrap=own_kafka.address, topic_partitions=4, delivery_timeout_s=3)
    async with producing(settings, Metrics()) as producer:
        await producer.send([(b"1", b"before")])
        await own_kafka.restart()
        await ensure_topics(settings)

        async def sent() -> bool:
            try:
                await producer.send([(b"1", b"after")])
            except RankcastError:
                return False
            return True

        await until(sent, within=20)
    assert (await read_all(settings, 1))[0][2] == b"after"


@pytest.mark.parametrize(
    ("error", "passes"),
    [(UnknownError(), True), (KafkaConnectionError(), True), (TopicAuthorizationFailedError(), False)],
)
def test_only_a_trouble_that_may_pass_is_waited_for(error: KafkaError, passes: bool) -> None:
    assert may_pass(error) is passes


async def test_nothing_is_acknowledged_for_a_log_that_went_with_its_broker(own_kafka: Tansu) -> None:
    settings = Settings(kafka_bootstrap=own_kafka.address, topic_partitions=4)
    async with producing(settings, Metrics()) as producer:
        await producer.send([(b"%d" % number, b"before") for number in range(8)])
        own_kafka.kill()
        sending = [
            asyncio.create_task(producer.send([(b"%d" % number, b"%d" % number)])) for number in range(20)
        ]
        await asyncio.sleep(0)  # they are on their way before there is a broker again, which lacks the topic
        await own_kafka.start()
        await asyncio.gather(*sending)
        await producer.send([(b"%d" % number, b"%d" % number) for number in range(20, 40)])
    values = {int(value or b"-1") for _, _, value in await read_all(settings, 40)}
    assert values == set(range(40))


async def test_topics_that_cannot_be_made_are_a_broker_that_is_away() -> None:
    with pytest.raises(BrokerAway):
        await ensure_topics(Settings(kafka_bootstrap=f"127.0.0.1:{free_port()}"))


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (b'{"match_id":"x","player_id":42,"season_id":1,"points":"many"}', b"42"),
        (b'{"playerId":-7}', b"-7"),
        (b'{"player_id":9223372036854775807}', b"9223372036854775807"),
        (b'{"player_id":9223372036854775808}', None),
        (b'{"player_id":"42"}', None),
        (b'{"player_id":true}', None),
        (b'{"player_id":42.0}', None),
        (b"[1]", None),
        (b"", None),
        (b"\xff\xfe", None),
        (b'{"player_id":42', None),
    ],
)
def test_a_line_of_a_file_goes_by_its_player_where_that_can_be_read(line: bytes, key: bytes | None) -> None:
    assert replay_key(line) == key
