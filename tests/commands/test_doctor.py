"""`doctor` on real services: good ones pass, and each thing that can be wrong is found with its remedy."""

import asyncio
import io
from collections.abc import Iterator

import asyncpg
import pytest
from redis import Redis
from rich.console import Console

from server.commands.doctor import Finding, Level, advice, examine, good, show, wrong
from server.commands.doctor_kafka import examine_kafka
from server.commands.doctor_postgres import examine_postgres
from server.commands.doctor_redis import examine_redis
from server.embedded.valkey import Valkey
from server.feed.producer import ResultProducer
from server.metrics import Metrics
from server.settings import Settings

MATCH = "5f0c6e1d-2a3b-4c5d-8e9f-0a1b2c3d4e5f"


def _levels(findings: list[Finding]) -> set[Level]:
    return {finding.level for finding in findings}


def _wrong(findings: list[Finding]) -> list[str]:
    return [finding.text for finding in findings if finding.level is Level.WRONG]


def _value(player: int) -> bytes:
    return (
        b'{"match_id":"%s","player_id":%d,"season_id":1,"points":1,"achieved_at":"2026-10-12T18:03:11Z"}'
        % (MATCH.encode(), player)
    )


async def test_a_redis_as_we_start_it_is_good(own_valkey: Valkey) -> None:
    findings = await examine_redis(Settings(redis_url=own_valkey.address))

    assert _levels(findings) == {Level.GOOD}


@pytest.fixture
def redis(own_valkey: Valkey) -> Iterator[Redis]:
    with Redis.from_url(own_valkey.address) as client:
        yield client


async def test_a_redis_that_evicts_is_found(own_valkey: Valkey, redis: Redis) -> None:
    redis.config_set("maxmemory-policy", "allkeys-lru")

    [found] = _wrong(await examine_redis(Settings(redis_url=own_valkey.address)))

    assert "allkeys-lru" in found


async def test_a_redis_that_forgets_at_a_crash_is_found(own_valkey: Valkey, redis: Redis) -> None:
    redis.config_set("appendonly", "no")

    [found] = _wrong(await examine_redis(Settings(redis_url=own_valkey.address)))

    assert "append-only file off" in found


async def test_a_replica_is_found(own_valkey: Valkey, redis: Redis) -> None:
    redis.replicaof("127.0.0.1", 1)

    [found] = _wrong(await examine_redis(Settings(redis_url=own_valkey.address)))

    assert "takes no writes" in found


async def test_a_postgresql_as_we_start_it_is_good(database_url: str) -> None:
    assert _levels(await examine_postgres(Settings(database_url=database_url))) == {Level.GOOD}


async def test_a_read_only_postgresql_is_found(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    name = database_url.rsplit("/", 1)[1]
    await connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    await connection.close()

    [found] = _wrong(await examine_postgres(Settings(database_url=database_url)))

    assert "read-only" in found


@pytest.fixture
def kafka_settings(kafka_bootstrap: str, topic: str) -> Settings:
    return Settings(kafka_bootstrap=kafka_bootstrap, topic=topic)


async def _send(settings: Settings, records: list[tuple[bytes | None, bytes]]) -> None:
    producer = ResultProducer(settings, Metrics())
    try:
        await producer.send(records)
    finally:
        await producer.stop()


async def test_a_topic_with_well_keyed_results_is_good(kafka_settings: Settings) -> None:
    await _send(kafka_settings, [(b"%d" % player, _value(player)) for player in range(50)])

    findings = await examine_kafka(kafka_settings)

    assert _wrong(findings) == []
    assert any("50 newest results" in finding.text for finding in findings)
    assert any("4 partitions" in finding.text for finding in findings)


async def test_a_topic_that_is_missing_is_wrong_where_we_may_not_create_it(kafka_bootstrap: str) -> None:
    settings = Settings(kafka_bootstrap=kafka_bootstrap, topic="nowhere", create_topics=False)

    [found] = _wrong(await examine_kafka(settings))

    assert "no topic nowhere" in found


async def test_results_with_other_keys_than_their_player_are_found(kafka_settings: Settings) -> None:
    await _send(kafka_settings, [(b"7", _value(8))])

    [found] = _wrong(await examine_kafka(kafka_settings))

    assert "b'7' for player 8" in found


async def test_records_in_the_wrong_partition_are_found(kafka_settings: Settings) -> None:
    from aiokafka import AIOKafkaProducer  # noqa: PLC0415  ours never sends to another partition

    producer = AIOKafkaProducer(bootstrap_servers=kafka_settings.kafka_bootstrap)
    await producer.start()
    for partition in range(4):
        await producer.send_and_wait(kafka_settings.topic, _value(42), key=b"42", partition=partition)
    await producer.stop()

    [found] = _wrong(await examine_kafka(kafka_settings))

    assert "3 of 4 records are in the wrong partition" in found


async def test_a_service_that_is_away_is_wrong_and_names_its_variable() -> None:
    settings = Settings(redis_url="redis://127.0.0.1:1")

    findings = await examine(settings, [("Redis", "REDIS_URL", examine_redis)])

    assert _levels(findings) == {Level.WRONG}
    assert "REDIS_URL" in findings[0].remedy


async def test_a_service_that_never_answers_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.commands.doctor.CHECK_SECONDS", 0.05)

    async def silent(_settings: Settings) -> list[Finding]:
        await asyncio.Event().wait()
        return []

    [finding] = await examine(Settings(), [("Kafka", "KAFKA_BOOTSTRAP_SERVERS", silent)])

    assert finding.text == "no answer within 0.05 s"


@pytest.mark.parametrize(
    ("findings", "fine"),
    [
        ([good("Redis", "a")], True),
        ([good("Redis", "a"), advice("Kafka", "b", "do this")], True),
        ([advice("Kafka", "b", "do this"), wrong("Redis", "c", "do that")], False),
    ],
)
def test_only_what_is_wrong_fails(findings: list[Finding], fine: bool) -> None:
    out = io.StringIO()

    assert show(findings, Console(file=out)) is fine
    assert all(finding.remedy in out.getvalue() for finding in findings)
