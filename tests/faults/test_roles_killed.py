"""kill -9 of each role, a process of its own, in the middle of the load; then it is started again.

Nobody has to do more than start it: where it goes on is the word of Redis and PostgreSQL, not of the dead.
"""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from server.board.connection import connect
from server.board.keys import BoardKeys
from server.embedded.postgres import Postgres
from server.embedded.tansu import Tansu
from tests.faults.arena import APART, SUM, Arena
from tests.faults.ground import fed, sharing
from tests.waiting import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

MEANWHILE = 1000  # results while a role is dead


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(services_folder: Path, postgres: Postgres, kafka: Tansu) -> AsyncIterator[Arena]:
    """Each role a process of its own."""
    async with sharing(
        services_folder,
        postgres,
        kafka.address,
        processes=APART,
    ) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def arena(shared: Arena) -> Arena:
    """The same for each test, under load again."""
    return await fed(shared)


async def crash(arena: Arena, name: str) -> float:
    """Kill the role's process under load; return when, once it is known to answer no more."""
    since = time.monotonic()
    await arena.role(name).kill()
    await until(lambda: arena.ready(name).now.status is None)
    return since


async def revive(arena: Arena, name: str) -> None:
    """Start the process again and wait until it says that it is ready."""
    await arena.role(name).start()
    await arena.ready(name).ready()


def assert_others_stayed_ready(arena: Arena, name: str, since: float) -> None:
    """No other process took this one's death for its own trouble."""
    for other in arena.roles:
        assert other == name or arena.readiness[other].stayed_ready(since), (
            other,
            arena.readiness[other].changes,
        )


async def lag(arena: Arena) -> int:
    """Records that Kafka has and the board of sums does not show, as its page is told."""
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"{arena.web.url}/seasons/{SUM}/leaderboard/status")
    return int(answer.json()["lagRecords"] or 0)


async def test_a_killed_ingest_goes_on_where_the_boards_stand(arena: Arena) -> None:
    opened, connections = arena.told("ingest", "log_opened"), arena.watching.connections
    epochs, lost = arena.watching.seats["s1"].epochs[:], arena.told("ingest", "board_lost")
    since = await crash(arena, "ingest")
    await arena.feeder.more(MEANWHILE)
    await until(lambda: lag(arena))  # the page says that the board lags
    await revive(arena, "ingest")
    assert arena.told("ingest", "log_opened") == opened + 1  # before it said that it was ready
    await arena.holds()
    assert await lag(arena) == 0
    assert await arena.role("ingest").metric("results_total", role="ingest", outcome="new_record") > 0
    assert_others_stayed_ready(arena, "ingest", since)
    assert arena.watching.connections == connections
    assert arena.watching.seats["s1"].epochs == epochs  # the board went on: no rebuild
    assert arena.told("ingest", "board_lost") == lost


async def test_a_killed_persist_goes_on_where_postgresql_stands(arena: Arena) -> None:
    opened, connections = arena.told("persist", "log_opened"), arena.watching.connections
    since = await crash(arena, "persist")
    version = arena.watching.seats["s2"].version
    await arena.feeder.more(MEANWHILE)
    await until(lambda: arena.watching.seats["s2"].version > version)  # boards do not wait for it
    await revive(arena, "persist")
    assert arena.told("persist", "log_opened") == opened + 1
    await arena.holds()
    stored = await arena.role("persist").metric("results_total", role="persist", outcome="new")
    assert stored >= MEANWHILE
    assert_others_stayed_ready(arena, "persist", since)
    assert arena.watching.connections == connections
    assert not arena.told("persist", "persist_fenced")  # nobody else wrote


async def test_viewers_of_a_killed_web_come_back_to_the_board_that_they_left(arena: Arena) -> None:
    connections, epochs = arena.watching.connections, arena.watching.seats["s1"].epochs[:]
    answers = arena.reader.answers[200]
    since = await crash(arena, "web")
    await arena.feeder.more(MEANWHILE)
    await revive(arena, "web")
    await until(lambda: arena.watching.connections > connections)
    await arena.holds()
    assert arena.watching.connections == connections + 1
    assert arena.watching.byes == []  # it had no time to say so
    assert arena.watching.seats["s1"].epochs == epochs
    assert arena.reader.answers[200] > answers
    assert all("Error" in failure for failure in arena.reader.failures)  # no wrong answer, only none
    assert await arena.web.metric("viewers", kind="socket") == 1
    assert_others_stayed_ready(arena, "web", since)


async def test_a_board_that_is_lost_while_the_keeper_is_dead_is_rebuilt_when_it_is_back(arena: Arena) -> None:
    connections = arena.watching.connections
    since = await crash(arena, "keeper")
    keys = BoardKeys(SUM)
    async with connect(arena.redis_url) as redis:
        await redis.unlink(*keys.board)
    await arena.logged("ingest", "board_lost", board="s1")
    ingest = arena.role("ingest")

    async def closed() -> bool:
        return await ingest.metric("closed_boards") == 1

    await until(closed)
    await arena.feeder.more(MEANWHILE)
    await revive(arena, "keeper")
    await arena.logged("keeper", "board_rebuilt", board="s1")
    await arena.holds()
    assert await arena.role("keeper").metric("rebuilds_total", outcome="done") == 1
    assert await ingest.metric("closed_boards") == 0
    assert "replaced" in arena.watching.seats["s1"].seasons
    assert arena.watching.connections == connections
    for other in ("web", "persist"):  # ingest says that a board takes nothing
        assert arena.ready(other).stayed_ready(since)
