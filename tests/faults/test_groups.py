"""Three processes with the role ingest share the partitions: rebalances and zombies change nothing."""

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
from aiokafka.admin import AIOKafkaAdminClient

from server.embedded.postgres import Postgres
from tests import services
from tests.faults.apache import administering, members, passer_by
from tests.faults.arena import Arena
from tests.faults.ground import assert_viewers_stayed, fed, sharing
from tests.waiting import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

SESSION_S = 6  # Apache Kafka takes no less
REBALANCED_FOR_S = 60.0
EVERY_S = 3.0
INGESTS = ("ingest", "ingest-2", "ingest-3")

RATE = 500.0  # results a second


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    services_folder: Path, postgres: Postgres, apache_kafka: services.ApacheKafka
) -> AsyncIterator[Arena]:
    """Three processes ingest; everything else is one."""
    async with sharing(
        services_folder,
        postgres,
        apache_kafka.address,
        processes={"web": "web,persist,keeper"} | dict.fromkeys(INGESTS, "ingest"),
        rate=RATE,
        RANKCAST_CONSUMER_GROUPS="true",
        RANKCAST_SESSION_TIMEOUT_S=str(SESSION_S),
        RANKCAST_MAX_POLL_INTERVAL_S=str(SESSION_S),
    ) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def arena(shared: Arena) -> Arena:
    """The same for each test, under load again."""
    return await fed(shared)


@pytest_asyncio.fixture(loop_scope="module")
async def admin(apache_kafka: services.ApacheKafka) -> AsyncIterator[AIOKafkaAdminClient]:
    """An operator's connection to the broker."""
    async with administering(apache_kafka.address) as client:
        yield client


def group_of(arena: Arena) -> str:
    """The group of the three."""
    return f"{arena.web.environment['RANKCAST_TOPIC']}-ingest"


async def shares(arena: Arena) -> float:
    """How often the three were given a share of the partitions."""
    return sum([await arena.roles[name].metric("rebalances_total", role="ingest") for name in INGESTS])


async def has_members(admin: AIOKafkaAdminClient, group: str, count: int) -> bool:
    """Whether the group has so many members."""
    return await members(admin, group) == count


async def test_rebalances_every_three_seconds_lose_nothing_and_count_nothing_twice(
    arena: Arena, apache_kafka: services.ApacheKafka
) -> None:
    """B1 for whole processes."""
    before, topic = await shares(arena), arena.web.environment["RANKCAST_TOPIC"]
    ends, rounds = time.monotonic() + REBALANCED_FOR_S, 0
    while time.monotonic() < ends:
        async with passer_by(apache_kafka.address, topic, group_of(arena)):
            await asyncio.sleep(EVERY_S / 2)
        await asyncio.sleep(EVERY_S / 2)
        rounds += 1
    await arena.holds(within=120)
    assert rounds >= 3
    assert await shares(arena) - before >= 2 * rounds
    assert_viewers_stayed(arena)
    for name in INGESTS:
        assert arena.roles[name].told("partitions_assigned", role="ingest")
        assert not arena.roles[name].told("board_lost", was_there=True)
        assert not arena.roles[name].told("role_died")


async def test_a_zombie_that_wakes_with_old_results_in_hand_changes_nothing(
    arena: Arena, admin: AIOKafkaAdminClient
) -> None:
    """B7 for whole processes: frozen beyond its session and its poll interval, the others have its share."""
    zombie, group, since = arena.roles["ingest-2"], group_of(arena), time.monotonic()
    await until(partial(has_members, admin, group, 3), within=30)
    shared = len(zombie.told("partitions_assigned"))
    zombie.freeze()
    try:
        await until(lambda: arena.readiness[zombie.name].now.status is None, within=20)
        await until(partial(has_members, admin, group, 2), within=30)
        await arena.feeder.more(2000, within=60)
    finally:
        zombie.thaw()
    await until(lambda: len(zombie.told("partitions_assigned")) > shared, within=60)
    await arena.feeder.more(500, within=60)
    await arena.holds(within=120)
    assert_viewers_stayed(arena)
    assert arena.ready("web").stayed_ready(since)
    assert not zombie.told("role_died")
