"""The board in the making, from its first chunk to the swap: what it lost, and what it waits for."""

import asyncio

import pytest
from redis import Redis as BlockingRedis
from redis.asyncio import Redis

from server.archive.store import Archive
from server.board.batch import SubmitBatch
from server.board.keys import BoardKeys
from server.board.position import Applied, new_epoch
from server.board.rebuilds import RebuildLost
from server.board.store import BoardStore
from server.core.season import Season
from server.keeper.progress import Progress
from server.keeper.rebuild import Rebuilder
from tests.flow.archives import new_log
from tests.flow.boards import (
    open_board,
    order,
)
from tests.flow.rebuild.common import KEYS, fill, making, sql_order
from tests.waiting import until


async def test_a_board_in_the_making_that_gets_lost_is_loaded_again(
    archive: Archive, redis: Redis, redis_url: str, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    losses = iter([True])

    def lose_it_once(progress: Progress) -> None:
        if next(losses, False):  # at once, before the rebuild goes on
            with BlockingRedis.from_url(redis_url) as client:
                client.delete(*client.keys("*rebuild:*:meta"))

    report = await rebuilder.rebuild(12, lose_it_once)
    assert report.started_over == 1
    assert await order(redis, season) == await sql_order(archive, season)
    assert await making(redis) == []


async def test_chunks_that_do_not_follow_are_not_taken(
    redis: Redis, boards: BoardStore, season: Season
) -> None:
    keys = BoardKeys(12, new_epoch())
    await boards.rebuilds.begin(keys, season)
    await boards.rebuilds.load(keys, 0, [(5, 1)])
    with pytest.raises(RebuildLost, match="chunk 1 is due"):
        await boards.rebuilds.load(keys, 2, [(9, 9)])
    await boards.rebuilds.load(keys, 0, [(5, 1)])  # whose answer was lost
    with pytest.raises(RebuildLost, match="not all of the 2 chunks"):
        await boards.rebuilds.finish(keys, 2, Applied(1))
    with pytest.raises(RebuildLost, match="no position"):
        await boards.rebuilds.swap(keys)
    assert await redis.zrange(keys.zset, 0, -1) == [b"1"]


async def test_a_board_in_the_making_that_lost_players_is_not_opened(
    redis: Redis, boards: BoardStore, season: Season
) -> None:
    keys = BoardKeys(12, new_epoch())
    await boards.rebuilds.begin(keys, season)
    await boards.rebuilds.load(keys, 0, [(5, 1)])
    await redis.delete(keys.zset)
    await boards.rebuilds.load(keys, 1, [(9, 9)])
    with pytest.raises(RebuildLost, match="not all of their players"):
        await boards.rebuilds.finish(keys, 2, Applied(1))


@pytest.mark.parametrize("name", ["zset", "meta", "applied"])
async def test_a_board_in_the_making_that_lost_one_of_its_keys_never_goes_live(
    redis: Redis, boards: BoardStore, season: Season, name: str
) -> None:
    await open_board(boards, season)
    live = await boards.position(12)
    keys = BoardKeys(12, new_epoch())
    await boards.rebuilds.begin(keys, season)
    await boards.rebuilds.load(keys, 0, [(5, 1)])
    await boards.rebuilds.finish(keys, 1, Applied(1))
    await redis.delete(getattr(keys, name))
    with pytest.raises(RebuildLost, match="no position"):
        await boards.rebuilds.swap(keys)
    assert await boards.position(12) == live


async def test_where_the_lock_was_lost_two_rebuilds_are_kept_apart_by_their_ids(
    archive: Archive, redis: Redis, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    second: list[asyncio.Task[object]] = []

    def unlock(_: Progress) -> None:
        if not second:
            second.append(asyncio.create_task(again()))

    async def again() -> object:
        await redis.delete(KEYS.lock)
        return await rebuilder.rebuild(12)

    await rebuilder.rebuild(12, unlock)
    await asyncio.gather(*second)
    assert await order(redis, season) == await sql_order(archive, season)
    assert await making(redis) == []


async def test_a_swap_waits_until_the_new_board_has_read_as_far_as_the_live_one_on_every_partition(
    boards: BoardStore, redis: Redis, season: Season
) -> None:
    await open_board(boards, season, offsets={0: 5, 1: 7})
    keys = BoardKeys(12, new_epoch())
    await boards.rebuilds.begin(keys, season)
    await boards.rebuilds.finish(keys, 0, Applied(1, {0: 9}))
    before = await boards.position(12)
    assert not await boards.rebuilds.swap(keys)
    assert await boards.position(12) == before
    await boards.submit(SubmitBatch(season, 1, 1, 0, 7, keys=keys))
    assert await boards.rebuilds.swap(keys)
    assert await boards.applied(12) == Applied(1, {0: 9, 1: 7})


async def test_a_live_board_that_cannot_be_reached_is_held_for_a_moment_and_goes_on_by_itself(
    boards: BoardStore, redis: Redis, season: Season
) -> None:
    await open_board(boards, season, offsets={0: 5})
    keys = BoardKeys(12, new_epoch())
    await boards.rebuilds.begin(keys, season)
    await boards.rebuilds.finish(keys, 0, Applied(1))
    assert not await boards.rebuilds.swap(keys)
    assert (await boards.submit(SubmitBatch(season, 1, 0, 5, 6))).kind == "done"
    assert not await boards.rebuilds.swap(keys, hold_s=0.5)
    assert (await boards.submit(SubmitBatch(season, 1, 0, 6, 7))).kind == "wait"
    assert (await boards.submit(SubmitBatch(season, 1, 0, 0, 6, keys=keys))).kind == "done"

    async def goes_on() -> bool:
        return (await boards.submit(SubmitBatch(season, 1, 0, 6, 7))).kind == "done"

    await until(goes_on, within=5)


async def test_a_swap_ends_the_hold(boards: BoardStore, redis: Redis, season: Season) -> None:
    await open_board(boards, season, offsets={0: 5})
    keys = BoardKeys(12, new_epoch())
    await boards.rebuilds.begin(keys, season)
    await boards.rebuilds.finish(keys, 0, Applied(1))
    assert not await boards.rebuilds.swap(keys, hold_s=60)
    await boards.submit(SubmitBatch(season, 1, 0, 0, 5, keys=keys))
    assert await boards.rebuilds.swap(keys, hold_s=60)
    assert (await boards.submit(SubmitBatch(season, 1, 0, 5, 6))).kind == "done"
