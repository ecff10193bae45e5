"""`doctor` on real services: good ones pass, and each thing that can be wrong is found with its remedy."""

import asyncio
import io
import re
from collections.abc import Iterator

import asyncpg
import pytest
from redis import Redis
from rich.console import Console

from server.archive.store import Archive
from server.board.connection import connect
from server.board.keys import BoardKeys
from server.board.store import BoardStore
from server.commands.doctor import Finding, Level, advice, clock_finding, examine, good, show, wrong
from server.commands.doctor_boards import examine_boards
from server.commands.doctor_kafka import _replicas, _retention, examine_kafka
from server.commands.doctor_postgres import examine_postgres
from server.commands.doctor_redis import _allocator, examine_redis
from server.core.season import Season
from server.embedded.valkey import Valkey
from server.feed.producer import ResultProducer
from server.keeper.audit import Auditor
from server.metrics import Metrics
from server.settings import Settings
from tests.waiting import until
from tests.web.conftest import Api, definition, make_season, running, settings_for

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

    assert _wrong(findings) == []
    advice = [finding.text for finding in findings if finding.level is Level.ADVICE]
    assert [text for text in advice if not text.startswith("allocator")] == [
        "no replica: while Redis is away boards stand still, then are rebuilt if it comes back empty"
    ]


@pytest.mark.parametrize(("name", "level"), [("jemalloc-5.3.0", Level.GOOD), ("libc", Level.ADVICE)])
def test_an_allocator_that_makes_calls_wait_is_advised_against(name: str, level: Level) -> None:
    assert _allocator({"mem_allocator": name}).level is level


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


async def test_a_redis_that_is_almost_full_is_found(own_valkey: Valkey, redis: Redis) -> None:
    used = redis.info("memory")["used_memory"]
    redis.config_set("maxmemory", used + 1000)

    found = _wrong(await examine_redis(Settings(redis_url=own_valkey.address)))

    assert "at the limit it refuses writes" in found[0]


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


@pytest.mark.parametrize(
    ("ahead_s", "level", "text"),
    [
        (0.4, Level.GOOD, "its clock agrees"),
        (3600, Level.WRONG, "3600.0 s ahead of its clock"),
        (-7.25, Level.WRONG, "7.2 s behind its clock"),
    ],
)
def test_a_clock_that_differs_is_found(ahead_s: float, level: Level, text: str) -> None:
    finding = clock_finding("Redis", ahead_s, Settings())

    assert finding.level is level
    assert text in finding.text


@pytest.mark.parametrize(
    ("kept_ms", "level"),
    [
        ("-1", Level.GOOD),
        ("604800000", Level.GOOD),
        ("172800000", Level.ADVICE),
        ("3600000", Level.WRONG),
        (None, Level.ADVICE),
    ],
)
def test_a_log_that_forgets_soon_is_found(kept_ms: str | None, level: Level) -> None:
    configs = {} if kept_ms is None else {"retention.ms": kept_ms}

    assert _retention(Settings(), configs).level is level


@pytest.mark.parametrize(
    ("replicas", "isr", "level"),
    [([1, 2, 3], [1, 2, 3], Level.GOOD), ([1], [1], Level.ADVICE), ([1, 2, 3], [1, 3], Level.WRONG)],
)
def test_copies_that_are_missing_or_lag_are_found(replicas: list[int], isr: list[int], level: Level) -> None:
    whole = {"partition": 0, "replicas": [1, 2, 3], "isr": [1, 2, 3]}

    assert _replicas([whole, {"partition": 1, "replicas": replicas, "isr": isr}]).level is level


# -- boards


@pytest.fixture
def all_services(redis_url: str, database_url: str, kafka_bootstrap: str, topic: str) -> Settings:
    return settings_for(redis_url, database_url, kafka_bootstrap, topic)


async def _in_step(settings: Settings) -> None:
    """Return when both readers are at the log's end and the board is there."""

    async def nothing_wrong() -> bool:
        return _wrong(await examine_boards(settings)) == []

    await until(nothing_wrong, within=30)


async def test_boards_that_go_on_are_good_and_one_that_was_never_audited_is_told_of(
    all_services: Settings,
) -> None:
    async with running(all_services) as process, process.client() as http:
        await make_season(process, Api(http, 12, all_services))
        await _in_step(all_services)
        before = await examine_boards(all_services)
        async with connect(all_services.redis_url or "") as redis:
            boards = BoardStore(redis, all_services, Metrics())
            await Auditor(all_services, Metrics(), process.archive, boards, redis).audit(12)
        after = await examine_boards(all_services)

    assert "board s12 was never audited" in [finding.text for finding in before]
    assert _levels(after) == {Level.GOOD}
    assert "the last audit of s12 found everything equal" in [finding.text for finding in after]


async def test_a_board_that_is_gone_and_readers_that_are_behind_are_found(
    all_services: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.commands.doctor_boards.LONG_LAG", 3)
    async with running(all_services) as process, process.client() as http:
        await make_season(process, Api(http, 12, all_services))
        await make_season(process, Api(http, 13, all_services))
        await _in_step(all_services)
    for _ in range(10):  # Tansu may tell the start of the last batch as its end
        await _send(all_services, [(b"42", _value(42))])
    async with connect(all_services.redis_url or "") as redis:
        await redis.delete(BoardKeys(13).zset, BoardKeys(13).meta, BoardKeys(13).applied)

    sql, best, gone = _wrong(await examine_boards(all_services))

    assert re.fullmatch(r"PostgreSQL is (9|10) records behind the log", sql)
    assert re.fullmatch(r"board s12 is (9|10) records behind the log", best)
    assert gone == "board s13 is not there"


async def test_services_without_a_season_or_a_reader_are_told_what_to_start(all_services: Settings) -> None:
    [none] = await examine_boards(all_services)
    archive = await Archive.connect(all_services.database_url or "", all_services, Metrics())
    await archive.create_season(Season.parse(definition(12), 0))
    await archive.close()
    [unread] = await examine_boards(all_services)

    assert (none.level, none.remedy) == (Level.ADVICE, "make one: rankcast season create FILE.json")
    assert (unread.level, unread.text) == (Level.WRONG, "PostgreSQL has read no log yet")
