"""A rebuild that is not alone: a second one, a crash, a lock that ends, a reset beside it."""

import time

import pytest
from redis.asyncio import Redis

from server.archive.store import Archive
from server.board.keys import BoardKeys
from server.board.position import Applied, new_epoch
from server.board.rebuilds import RebuildLost, RebuildRefused
from server.board.store import BoardStore
from server.core.season import Season
from server.keeper.progress import Progress
from server.keeper.rebuild import Rebuilder
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.archives import append, new_log
from tests.flow.boards import (
    LIFE_S,
    Maker,
    make_season,
    order,
)
from tests.flow.rebuild.common import KEYS, fill, making, sql_order
from tests.waiting import until


async def test_of_two_rebuilds_at_once_the_second_is_refused_with_the_reason_f13(  # noqa: PLR0917  fixtures
    archive: Archive,
    redis: Redis,
    boards: BoardStore,
    rebuilder: Rebuilder,
    season: Season,
    metrics: Metrics,
) -> None:
    await fill(archive, await new_log(archive), season)
    async with boards.rebuilds.lock(12, "the first"):
        with pytest.raises(RebuildRefused, match="season 12 is being worked on by the first"):
            await rebuilder.rebuild(12)
    await rebuilder.rebuild(12)
    assert await order(redis, season) == await sql_order(archive, season)
    for outcome in ("done", "refused"):
        assert metrics.registry.get_sample_value("rankcast_rebuilds_total", {"outcome": outcome}) == 1


class Crash(Exception):  # noqa: N818  stands for a kill
    """Ends a rebuild in the middle."""


async def test_a_rebuild_that_fails_in_the_middle_leaves_nothing_and_the_next_one_works(
    archive: Archive, redis: Redis, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)

    def crash(_: Progress) -> None:
        raise Crash

    with pytest.raises(Crash):
        await rebuilder.rebuild(12, crash)
    assert await making(redis) == []
    await rebuilder.rebuild(12)
    assert await order(redis, season) == await sql_order(archive, season)


async def test_what_a_killed_rebuild_left_is_removed_by_the_next_one_f13(
    archive: Archive, redis: Redis, boards: BoardStore, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    killed = BoardKeys(12, new_epoch())
    await boards.rebuilds.begin(killed, season)
    await boards.rebuilds.load(killed, 0, [(5, 1)])
    assert len(await making(redis)) > 2
    await rebuilder.rebuild(12)
    assert await making(redis) == []


async def test_a_killed_rebuild_keeps_others_away_no_longer_than_its_lock_lives(
    archive: Archive, redis: Redis, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    await redis.set(KEYS.lock, "killed", px=300)
    with pytest.raises(RebuildRefused, match=r"by killed; wait until it is done or, .* 1 seconds"):
        await rebuilder.rebuild(12)

    async def free() -> bool:
        return not await redis.exists(KEYS.lock)

    await until(free, within=5)
    await rebuilder.rebuild(12)
    assert await order(redis, season) == await sql_order(archive, season)


async def test_a_rebuild_that_outlived_its_lock_does_not_bring_back_what_a_reset_removed(
    archive: Archive, redis: Redis, boards: BoardStore, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    await rebuilder.rebuild(12)
    standing_still = BoardKeys(12, new_epoch())
    await boards.rebuilds.begin(standing_still, season)
    await boards.rebuilds.load(standing_still, 0, [(5, 1)])
    await boards.rebuilds.finish(standing_still, 1, Applied(1, {0: 40}))
    await archive.reset_season(12)
    await boards.rebuilds.remove_board(12)
    with pytest.raises(RebuildLost):
        await boards.rebuilds.swap(standing_still)
    assert await order(redis, season) == []


async def test_a_board_from_before_its_seasons_reset_is_made_anew_without_its_markers(
    archive: Archive, redis: Redis, boards: BoardStore, rebuilder: Rebuilder, season: Season
) -> None:
    log = await new_log(archive)
    [old, *_] = await fill(archive, log, season)
    await rebuilder.rebuild(12)
    await redis.set(KEYS.dedup(old.match_id, old.player_id), f"{log}:0:0")
    await archive.reset_season(12)  # and a Redis that has gone back to a copy from before that
    [standing] = await boards.standings([12])
    now = await archive.season(12)
    assert now is not None
    assert standing.is_outdated(now)
    await rebuilder.rebuild(12)
    [standing] = await boards.standings([12])
    assert not standing.is_outdated(now)
    assert await order(redis, season) == []
    assert await redis.keys(KEYS.every_dedup) == []


async def test_a_rebuilt_board_asks_until_results_dated_ahead_are_old(
    archive: Archive, redis: Redis, boards: BoardStore, rebuilder: Rebuilder
) -> None:
    """Their markers went with the Redis that was lost, and they look new for longer than a marker's life."""
    season = make_season("sum")
    await archive.create_season(season)
    ahead = Maker(season).result(1, 5, at=60 + 2 * LIFE_S)
    await append(archive, await new_log(archive), ahead)
    await rebuilder.rebuild(12)
    await redis.hincrby(KEYS.meta, "asking", -LIFE_S - 60)  # that much later
    retry = Maker(season, next_offset=1).batch(ahead)
    assert (await boards.submit(retry)).kind == "ask"


async def test_a_long_rebuild_keeps_its_lock(archive: Archive, redis: Redis, boards: BoardStore) -> None:
    boards = BoardStore(redis, Settings(rebuild_lock_s=0.3), Metrics())
    async with boards.rebuilds.lock(12, "long"):
        began = time.monotonic()
        await until(lambda: time.monotonic() - began > 0.7)
        assert await redis.get(KEYS.lock) == b"long"
    assert not await redis.exists(KEYS.lock)
