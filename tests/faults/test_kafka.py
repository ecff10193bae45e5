"""Apache Kafka killed, its topic made again, offsets and records gone: the boards are what PostgreSQL is.

All tests share one broker and one Rankcast, whose roles are processes of their own in consumer groups with
the shortest session time-out that Apache Kafka takes: so an outage of seconds outlasts every time-out.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from server.core.results import result_value
from server.embedded.postgres import Postgres
from server.embedded.tansu import create_topic
from tests import services
from tests.faults.apache import administering, committed, delete_group, trim
from tests.faults.arena import SUM, Arena
from tests.faults.ground import assert_viewers_stayed, fed, sharing
from tests.faults.truth import read_live, read_truth
from tests.services import PARTITIONS
from tests.waiting import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

SESSION_S = 6  # Apache Kafka takes no less
DOWN_S = 60.0  # far longer than sessions and deliveries last
MEANWHILE = 1000
READERS = ("ingest", "persist")

RATE = 500.0  # results a second


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kafka(services_folder: Path) -> AsyncIterator[services.ApacheKafka]:
    """The broker, which tests kill and start again."""
    services.ApacheKafka.require()
    server = services.ApacheKafka(services_folder / "killed-kafka")
    await server.start()
    yield server
    server.kill()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    services_folder: Path, postgres: Postgres, kafka: services.ApacheKafka
) -> AsyncIterator[Arena]:
    """Ingest and persist are processes of their own, in groups."""
    async with sharing(
        services_folder,
        postgres,
        kafka.address,
        processes={"web": "web,keeper", "ingest": "ingest", "persist": "persist"},
        rate=RATE,
        RANKCAST_CONSUMER_GROUPS="true",
        RANKCAST_SESSION_TIMEOUT_S=str(SESSION_S),
        RANKCAST_DELIVERY_TIMEOUT_S="5",
    ) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def arena(shared: Arena) -> Arena:
    """The same for each test, under load again."""
    return await fed(shared)


@pytest_asyncio.fixture(loop_scope="module")
async def admin(kafka: services.ApacheKafka) -> AsyncIterator[AIOKafkaAdminClient]:
    """An operator's connection to the broker."""
    async with administering(kafka.address) as client:
        yield client


def topic_of(arena: Arena) -> str:
    """The topic of the results; groups are named after it."""
    return arena.web.environment["RANKCAST_TOPIC"]


def logs(arena: Arena, role: str) -> list[int]:
    """The numbers of the logs that the role has opened, in order."""
    return [line["log"] for line in arena.role(role).told("log_opened", role=role)]


async def test_roles_whose_committed_offsets_are_gone_go_on_where_boards_and_postgresql_stand(
    arena: Arena, admin: AIOKafkaAdminClient
) -> None:
    epochs = arena.watching.seats["s1"].epochs[:]
    for name in READERS:
        assert await arena.role(name).stop() == 0
        group = f"{topic_of(arena)}-{name}"
        assert await committed(admin, group) > 0
        await delete_group(admin, group)
    await arena.feeder.more(MEANWHILE)
    for name in READERS:
        await arena.role(name).start()
        await arena.ready(name).ready()
    await arena.holds(within=120)
    assert_viewers_stayed(arena)
    assert arena.watching.seats["s1"].epochs == epochs
    assert await arena.role("ingest").metric("results_total", outcome="skipped") == 0  # nothing read again
    assert await arena.role("persist").metric("lost_records_total") == 0
    for name in READERS:
        assert await arena.role(name).metric("rebalances_total", role=name) > 0
        assert arena.told(name, "partitions_assigned", partitions=list(range(PARTITIONS)))


async def test_a_board_that_needs_what_retention_took_is_rebuilt_from_postgresql(
    arena: Arena, admin: AIOKafkaAdminClient
) -> None:
    rebuilds = await arena.role("keeper").metric("rebuilds_total", outcome="done")
    lost = arena.told("ingest", "board_lost")
    await arena.role("ingest").kill()
    await arena.feeder.more(MEANWHILE)
    truth = await read_truth(arena.database_url, arena.seasons)
    await trim(admin, topic_of(arena), truth.offsets)
    await arena.role("ingest").start()
    await until(lambda: arena.told("ingest", "board_lost") >= lost + 2, within=30)
    await arena.ready("ingest").ready()
    await arena.holds(within=120)
    assert_viewers_stayed(arena)
    assert arena.watching.seats["s1"].seasons[-1] == "replaced"
    assert arena.told("keeper", "rebuild_due", board="s1", reason="it was reported lost") > 0
    assert await arena.role("keeper").metric("rebuilds_total", outcome="done") >= rebuilds + 2
    assert await arena.role("persist").metric("lost_records_total") == 0
    assert await arena.role("ingest").metric("closed_boards") == 0


async def test_records_that_retention_took_before_persist_read_them_are_counted_and_on_no_board(
    arena: Arena, admin: AIOKafkaAdminClient
) -> None:
    for name in READERS:
        await arena.role(name).kill()
    await arena.feeder.more(MEANWHILE)
    await arena.feeder.finish()
    before = await read_truth(arena.database_url, arena.seasons)
    await trim(admin, topic_of(arena), dict.fromkeys(range(PARTITIONS), -1))
    arena.feeder.forget(arena.feeder.acknowledged.keys() - before.results.keys())
    arena.feeder.start()
    for name in READERS:
        await arena.role(name).start()
    await arena.logged("persist", "records_lost", within=30, partition=0)
    for name in READERS:
        await arena.ready(name).ready()
    await arena.holds(within=120)
    assert_viewers_stayed(arena)
    told = arena.role("persist").told("records_lost")
    lost = sum(line["log_begins"] - line["offset"] for line in told)
    assert await arena.role("persist").metric("lost_records_total", role="persist") == lost >= MEANWHILE


async def test_results_on_boards_that_retention_took_before_persist_read_them_leave_the_boards(
    arena: Arena, admin: AIOKafkaAdminClient
) -> None:
    """Ingest had read them, so the boards were ahead of what PostgreSQL can ever have."""
    epochs = arena.watching.seats["s1"].epochs[:]
    await arena.role("persist").kill()
    await arena.feeder.more(MEANWHILE)
    await arena.feeder.finish()
    ends = {str(number): str(end) for number, end in (await ends_of(arena)).items()}

    async def has_read() -> bool:
        live = [await read_live(arena.redis_url, season) for season in arena.seasons]
        return all(ends.items() <= board.applied.items() for board in live)

    await until(has_read, within=30)
    before = await read_truth(arena.database_url, arena.seasons)
    await trim(admin, topic_of(arena), dict.fromkeys(range(PARTITIONS), -1))
    arena.feeder.forget(arena.feeder.acknowledged.keys() - before.results.keys())
    await arena.role("persist").start()
    await until(lambda: arena.watching.seats["s1"].epochs != epochs, within=30)  # nothing new has to come
    await fed(arena)
    await arena.holds(within=120)
    assert_viewers_stayed(arena)
    assert arena.told("persist", "records_lost") > 0
    assert arena.told("keeper", "rebuild_due", board="s1", reason="it was reported lost") > 0


async def ends_of(arena: Arena) -> dict[int, int]:
    """Where the topic's partitions end."""
    partitions = [TopicPartition(topic_of(arena), number) for number in range(PARTITIONS)]
    bootstrap = arena.web.environment["KAFKA_BOOTSTRAP_SERVERS"]
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        return {tp.partition: end for tp, end in (await consumer.end_offsets(partitions)).items()}


async def test_a_topic_that_was_deleted_and_made_again_is_a_new_log_for_everybody(
    arena: Arena, admin: AIOKafkaAdminClient, kafka: services.ApacheKafka
) -> None:
    old = logs(arena, "persist")[-1]
    due = {board: arena.told("keeper", "rebuild_due", board=board) for board in ("s1", "s2")}
    await admin.delete_topics([topic_of(arena)])
    for name in READERS:
        await arena.ready(name).says(name, "no topic")
        assert arena.ready(name).now.status == 503
    held = await read_truth(arena.database_url, arena.seasons)
    arena.feeder.forget(arena.feeder.acknowledged.keys() - held.results.keys())
    await create_topic(kafka.address, topic_of(arena), PARTITIONS)
    await arena.feeder.more(MEANWHILE, within=60)
    await arena.holds(within=120)
    assert_viewers_stayed(arena)
    new = logs(arena, "persist")[-1]
    assert new != old
    assert logs(arena, "ingest")[-1] == new
    for board in ("s1", "s2"):
        assert (
            arena.told("keeper", "rebuild_due", board=board) > due[board]
        )  # by the keeper's word or ingest's
        assert arena.watching.seats[board].seasons[-1] == "replaced"
    for name in READERS:
        assert await arena.role(name).metric("retries_total", part=name) > 0


async def test_a_killed_kafka_is_read_on_when_it_is_back_and_refuses_posts_meanwhile(
    arena: Arena, kafka: services.ApacheKafka
) -> None:
    """B5, B8 for whole processes."""
    log, epochs = logs(arena, "persist")[-1], arena.watching.seats["s1"].epochs[:]
    kafka.kill()
    try:
        for name in READERS:
            await arena.ready(name).says(name, "broker")
            assert arena.ready(name).now.status == 503
        [result] = arena.feeder.make(arena.seasons[0], 1)
        async with httpx.AsyncClient(timeout=30) as client:
            answer = await client.post(
                f"{arena.web.url}/seasons/{SUM}/results",
                content=result_value(result),
                headers={"Authorization": "Bearer a key of the tests"},
            )
        assert (answer.status_code, answer.json()["code"]) == (503, "log_unavailable"), answer.text
        assert arena.ready("web").now.status == 200  # boards are served all the same
        await asyncio.sleep(DOWN_S)  # the outage itself
    finally:
        await kafka.start()
    await arena.feeder.more(MEANWHILE, within=60)
    await arena.holds(within=120)
    assert_viewers_stayed(arena)
    assert logs(arena, "persist")[-1] == logs(arena, "ingest")[-1] == log
    assert arena.watching.seats["s1"].epochs == epochs
    for name in READERS:
        assert arena.told(name, "feed_interrupted", role=name, part="kafka") > 0
        assert await arena.role(name).metric("retries_total", part=name, reason="kafka") > 0
    assert await arena.web.metric("produced_total", outcome="failed") == 1
