"""The embedded broker is killed and started again: another log, which begins at 0 and knows nothing.

What was unread in the killed broker is lost, as the README says: what PostgreSQL has and what is acknowledged
from then on is the truth. Nobody has to do anything: both roles find the new log, the keeper rebuilds.
"""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from server.embedded.tansu import Tansu
from server.embedded.valkey import Valkey
from tests import services
from tests.faults.arena import Arena, standing
from tests.faults.ground import assert_viewers_stayed
from tests.faults.truth import read_truth
from tests.waiting import until


@pytest.fixture
async def arena(place: Path, own_valkey: Valkey, database_url: str, own_kafka: Tansu) -> AsyncIterator[Arena]:
    """All roles in one process, on an embedded broker of the test's own."""
    async with standing(
        place,
        redis_url=own_valkey.address,
        database_url=database_url,
        kafka_bootstrap=own_kafka.address,
        topic=await services.new_topic(own_kafka.address),
    ) as found:
        yield found


def opened(arena: Arena, role: str) -> list[int]:
    """The numbers of the logs that the role has opened, in order."""
    return [line["log"] for line in arena.role(role).told("log_opened", role=role)]


async def test_a_restarted_embedded_broker_is_a_new_log_and_boards_are_rebuilt_from_postgresql(
    arena: Arena, own_kafka: Tansu
) -> None:
    due = {board: arena.told("keeper", "rebuild_due", board=board) for board in ("s1", "s2")}
    own_kafka.kill()
    for role in ("ingest", "persist"):
        await arena.logged(role, "feed_interrupted", role=role, part="kafka")
        await arena.ready(role).says(role, "broker")
    assert arena.ready("ingest").now.status == 503
    held = await read_truth(arena.database_url, arena.seasons)
    arena.feeder.forget(arena.feeder.acknowledged.keys() - held.results.keys())
    await own_kafka.start()
    await arena.feeder.more(2000, within=60)
    await arena.holds(within=120)
    before, after = opened(arena, "persist")
    assert opened(arena, "ingest") == [before, after]
    for board in ("s1", "s2"):
        assert arena.told("keeper", "rebuild_due", board=board) > due[board]
        assert arena.watching.seats[board].seasons[-1] == "replaced"
    assert await arena.role("keeper").metric("rebuilds_total", outcome="done") == 4
    for role in ("ingest", "persist"):
        assert await arena.role(role).metric("retries_total", part=role, reason="kafka") > 0
    assert_viewers_stayed(arena)


async def test_a_broker_that_is_restarted_again_and_again_never_brings_an_old_board_back(
    arena: Arena, own_kafka: Tansu
) -> None:
    for _ in range(3):
        logs = len(opened(arena, "persist"))
        own_kafka.kill()
        await arena.ready("persist").says("persist")
        held = await read_truth(arena.database_url, arena.seasons)
        arena.feeder.forget(arena.feeder.acknowledged.keys() - held.results.keys())
        await own_kafka.start()
        await until(partial(has_opened, arena, logs), within=30)
        await arena.feeder.more(200, within=60)
    await arena.holds(within=120)
    numbers = opened(arena, "persist")
    assert len(set(numbers)) == len(numbers) == 4


def has_opened(arena: Arena, more_than: int) -> bool:
    """Whether persist has opened more logs than so many."""
    return len(opened(arena, "persist")) > more_than
