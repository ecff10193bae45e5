"""Redis comes back after a crash: whole, empty, as it was before, or as a replica that was behind.

After each the board equals SQL, the viewer never lost the connection or saw an empty board, and the log, the
metrics and readiness told of it.
"""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from server.board.connection import connect
from server.board.store import BoardStore
from server.embedded.valkey import Valkey
from server.metrics import Metrics
from server.settings import Settings
from tests.faults.arena import SUM, Arena
from tests.faults.conftest import Ground
from tests.flow.deaf_wire import Wire, wire_to
from tests.waiting import until

pytestmark = pytest.mark.timeout(600)

AGE = 20_000  # results between a copy and its return: 10 s of load, which asks no less of it than a minute


async def version(redis_url: str) -> int:
    """The version of the board of sums."""
    async with connect(redis_url) as redis:
        found = await BoardStore(redis, Settings(), Metrics()).position(SUM)
    return found[1] if found else 0


async def crash(arena: Arena, valkey: Valkey) -> None:
    """Kill Redis under load; return once the process has said that it is not ready for want of it."""
    valkey.kill()
    await arena.ready("ingest").says("redis")
    await arena.ready("ingest").says("ingest", "Redis")
    assert arena.ready("ingest").now.status == 503
    await until(lambda: arena.watching.seats["s1"].stale == "unreachable", within=10)


def rebuilds(arena: Arena) -> list[int]:
    """With how many players each board was rebuilt since; those of the new seasons, of none, do not count."""
    return [line["players"] for line in arena.role("keeper").told("board_rebuilt") if line["players"]]


async def assert_crash_was_told(arena: Arena) -> None:
    """Ingest, the subscription and the mirrors each told of it."""
    assert arena.told("ingest", "redis_away", role="ingest") > 0
    assert await arena.role("ingest").metric("retries_total", part="ingest", reason="redis") > 0
    assert arena.told("web", "board_events_lost") > 0
    assert await arena.web.metric("retries_total", part="board_events") > 0
    assert arena.told("web", "mirror_stale", board="s1", reason="unreachable") > 0
    assert arena.told("web", "mirror_fresh", board="s1") > 0


async def test_a_killed_redis_comes_back_with_its_append_only_file(arena: Arena, own_valkey: Valkey) -> None:
    await crash(arena, own_valkey)
    await own_valkey.start()
    await arena.ready("ingest").ready()
    await arena.feeder.more(2000)
    await arena.holds()
    arena.assert_viewers_stayed()
    await assert_crash_was_told(arena)
    assert len(arena.watching.seats["s1"].epochs) == 2  # it may have lost what viewers have seen
    assert rebuilds(arena) == []


async def test_a_redis_that_comes_back_empty_is_rebuilt_while_the_last_picture_is_shown(
    arena: Arena, own_valkey: Valkey
) -> None:
    await crash(arena, own_valkey)
    shutil.rmtree(own_valkey.folder / "appendonlydir")
    await own_valkey.start()
    await arena.feeder.more(2000)
    await arena.holds()
    arena.assert_viewers_stayed()
    await assert_crash_was_told(arena)
    assert "replaced" in arena.watching.seats["s1"].seasons
    assert len(rebuilds(arena)) == 2
    assert await arena.role("keeper").metric("rebuilds_total", outcome="done") >= 2


async def test_a_redis_restored_from_an_older_copy_is_fed_again_what_it_lacks(
    arena: Arena, own_valkey: Valkey, place: Path
) -> None:
    shutil.copytree(own_valkey.folder / "appendonlydir", place / "copy")
    before = await version(own_valkey.address)
    await arena.feeder.more(AGE, within=90)
    await crash(arena, own_valkey)
    shutil.rmtree(own_valkey.folder / "appendonlydir")
    shutil.copytree(place / "copy", own_valkey.folder / "appendonlydir")
    await own_valkey.start()
    assert before > 0
    await arena.feeder.more(2000)
    await arena.holds()
    arena.assert_viewers_stayed()
    await assert_crash_was_told(arena)
    await arena.logged("ingest", "board_went_back", board="s1")
    assert rebuilds(arena) == []


@pytest.fixture
async def replica(place: Path, own_valkey: Valkey) -> AsyncIterator[tuple[Valkey, Wire]]:
    """A replica of the test's Valkey, over a wire of its own."""
    server = Valkey(place / "replica", "test")
    await server.start()
    async with wire_to(own_valkey.address) as wire, connect(server.address) as redis:
        await redis.config_set("masterauth", "test")
        await redis.replicaof("127.0.0.1", wire.port)
        yield server, wire
    server.kill()


async def link(redis_url: str) -> str:
    """A replica's link to its primary: up or down."""
    async with connect(redis_url) as redis:
        return str((await redis.info("replication"))["master_link_status"])


async def test_a_replica_that_was_behind_is_promoted_while_writes_go_on(
    ground: Ground, replica: tuple[Valkey, Wire]
) -> None:
    behind, replication = replica
    async with (
        wire_to(ground.valkey.address) as wire,
        ground.standing(through=wire.url) as arena,
    ):

        async def caught_up() -> bool:
            return await link(behind.address) == "up" and await version(behind.address) > 0

        await until(caught_up, within=20)
        replication.deafen_all()
        kept = await version(behind.address)
        await arena.feeder.more(AGE // 2, within=60)
        async with connect(behind.address) as redis:
            await redis.replicaof("NO", "ONE")
        assert await version(behind.address) < (kept + await version(ground.valkey.address)) / 2
        wire.server_url = arena.redis_url = behind.address
        wire.cut()  # the old primary still runs, and has what the new one has never heard of
        await arena.feeder.more(2000)
        await arena.holds()
        arena.assert_viewers_stayed()
        await arena.logged("ingest", "board_went_back", board="s1")
        assert len(arena.watching.seats["s1"].epochs) == 2
        assert await arena.web.metric("retries_total", part="board_events") > 0
        assert rebuilds(arena) == []
