"""A log is known by cluster id, topic and topic id, on every broker, and by nothing else."""

import contextlib
import re
from collections.abc import AsyncIterator
from functools import partial

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from hypothesis import given
from hypothesis import strategies as st

from server.embedded.process import free_port
from server.embedded.tansu import Tansu, create_topic
from server.feed import metadata
from server.feed.identity import BrokerAway, TopicMissing, TopicWatch, parse_bootstrap, read_identity
from server.feed.metadata import MalformedResponse, metadata_version, parse_metadata
from tests import services
from tests.waiting import until


@pytest.fixture(params=["embedded", "apache"])
def bootstrap(request: pytest.FixtureRequest) -> str:
    """Each of the brokers in turn."""
    name = "kafka_bootstrap" if request.param == "embedded" else "apache_kafka_bootstrap"
    address: str = request.getfixturevalue(name)
    return address


async def new_topic(bootstrap: str, partitions: int = 4) -> str:
    """A topic that the broker not only made but also tells of."""
    topic = await services.new_topic(bootstrap, partitions)
    await until(partial(is_there, bootstrap, topic))
    return topic


async def is_there(bootstrap: str, topic: str) -> bool:
    try:
        await read_identity(bootstrap, topic)
    except TopicMissing:
        return False
    return True


@contextlib.asynccontextmanager
async def watching(bootstrap: str, topic: str, within: float = 5.0) -> AsyncIterator[TopicWatch]:
    watch = TopicWatch(bootstrap, topic, within)
    try:
        yield watch
    finally:
        await watch.close()


async def recreate(bootstrap: str, topic: str) -> None:
    """Delete the topic and make it again by the same name."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.delete_topics([topic])
    finally:
        await admin.close()

    async def gone() -> bool:
        return not await is_there(bootstrap, topic)

    await until(gone)
    await create_topic(bootstrap, topic, 4)
    await until(partial(is_there, bootstrap, topic))


async def test_the_same_topic_has_the_same_identity_with_a_topic_id(bootstrap: str) -> None:
    topic = await new_topic(bootstrap)
    identity = await read_identity(bootstrap, topic)
    assert identity == await read_identity(bootstrap, topic)
    assert identity.topic == topic
    assert identity.cluster_id
    assert re.fullmatch("[0-9a-f]{32}", identity.topic_id)


async def test_a_topic_made_again_by_the_same_name_is_another_log(bootstrap: str) -> None:
    topic = await new_topic(bootstrap)
    before = await read_identity(bootstrap, topic)
    await recreate(bootstrap, topic)
    after = await read_identity(bootstrap, topic)
    assert (after.cluster_id, after.topic) == (before.cluster_id, before.topic)
    assert after.topic_id != before.topic_id


async def test_a_broker_without_topic_ids_is_known_by_cluster_and_topic(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = await new_topic(bootstrap)
    identity = await read_identity(bootstrap, topic)
    monkeypatch.setattr(metadata, "OLDEST_WITH_IDS", 99)  # the real broker, spoken to as to an old one
    old = await read_identity(bootstrap, topic)
    assert (old.cluster_id, old.topic, old.topic_id) == (identity.cluster_id, topic, "")


async def test_the_number_of_partitions_is_told(bootstrap: str) -> None:
    topic = await new_topic(bootstrap, partitions=3)
    async with watching(bootstrap, topic) as watch:
        assert (await watch.look()).partitions == 3


async def test_asking_for_a_topic_does_not_make_it(bootstrap: str) -> None:
    for _ in range(2):
        with pytest.raises(TopicMissing):
            await read_identity(bootstrap, "nobody-made-this")


async def test_each_start_of_the_embedded_broker_is_another_log(own_kafka: Tansu) -> None:
    await create_topic(own_kafka.address, "results", 1)
    async with watching(own_kafka.address, "results") as watch:
        before = await watch.look()
        await own_kafka.restart()
        with pytest.raises(TopicMissing):
            await watch.look()
        await create_topic(own_kafka.address, "results", 1)
        assert (await watch.look()).identity.cluster_id != before.identity.cluster_id


async def test_a_broker_that_is_down_is_passed_over_for_the_next_in_the_list(kafka_bootstrap: str) -> None:
    topic = await new_topic(kafka_bootstrap)
    assert (await read_identity(f"127.0.0.1:{free_port()},{kafka_bootstrap}", topic)).topic == topic


async def test_without_any_broker_the_reason_names_those_that_were_tried() -> None:
    dead = f"127.0.0.1:{free_port()}"
    with pytest.raises(BrokerAway, match=re.escape(dead)):
        await read_identity(dead, "results")


async def test_a_frozen_broker_is_away_and_its_late_answer_is_nobodys(own_kafka: Tansu) -> None:
    await create_topic(own_kafka.address, "results", 1)
    async with watching(own_kafka.address, "results", within=0.2) as watch:
        identity = await watch.look()
        own_kafka.pause()
        try:
            with pytest.raises(BrokerAway):
                await watch.look()
        finally:
            own_kafka.resume()
        await until(partial(answers, watch))
        assert await watch.look() == identity


async def answers(watch: TopicWatch) -> bool:
    try:
        await watch.look()
    except BrokerAway:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "brokers"),
    [
        ("kafka:9093", [("kafka", 9093)]),
        ("a:1, b:2", [("a", 1), ("b", 2)]),
        ("kafka", [("kafka", 9092)]),
        ("[::1]:9093", [("::1", 9093)]),
        ("[::1]", [("::1", 9092)]),
    ],
)
def test_brokers_are_named_as_everywhere_else(text: str, brokers: list[tuple[str, int]]) -> None:
    assert parse_bootstrap(text) == brokers


@given(st.binary(max_size=200), st.sampled_from([5, 10, 11, 12]))
def test_an_answer_that_is_none_is_refused_whatever_its_bytes(answer: bytes, version: int) -> None:
    with pytest.raises((MalformedResponse, UnicodeDecodeError)):
        parse_metadata(answer, version, "no broker says this by chance")


def test_an_answer_that_ends_too_early_is_refused() -> None:
    with pytest.raises(MalformedResponse):
        metadata_version(b"\0\0\0\1\0\0\0\0\0\2\0\3")
