"""What viewers are told: one event a call that changed the board, in the channel and in the change log."""

import asyncio
from collections.abc import AsyncIterator

import orjson
import pytest
from redis.asyncio import Redis
from redis.asyncio.client import PubSub

from server.board.batch import SubmitBatch
from server.board.keys import BoardKeys
from server.board.store import BoardStore
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.boards import Maker, changes, make_season, open_board, raw_changes, settle

SEASON = make_season("best")
KEYS = BoardKeys(SEASON.season_id)


@pytest.fixture
async def maker(boards: BoardStore, redis: Redis) -> Maker:
    await open_board(boards, SEASON)
    await settle(redis, SEASON)
    return Maker(SEASON)


@pytest.fixture
async def heard(redis: Redis) -> AsyncIterator[PubSub]:
    """A subscription to the board's events."""
    async with redis.pubsub() as channel:
        await channel.subscribe(KEYS.events)
        await channel.get_message(timeout=5)
        yield channel


async def messages(redis: Redis, heard: PubSub) -> list[bytes]:
    """All events up to now: those before a message of our own."""
    await redis.publish(KEYS.events, "end")
    found: list[bytes] = []
    while (message := await heard.get_message(timeout=5)) is not None:
        if message["data"] == b"end":
            return found
        found.append(message["data"])
    raise AssertionError("the subscription is deaf")


async def test_a_call_tells_its_rows_with_scores_and_ranks_in_the_order_they_were_applied(
    boards: BoardStore, redis: Redis, maker: Maker, heard: PubSub
) -> None:
    results = [maker.result(-5, 10), maker.result(7, 20), maker.result(-5, 30), maker.result(7, 15)]
    reply = await boards.submit(maker.batch(*results))
    score = [SEASON.codec.encode(result.points, result.achieved_us) for result in results]
    (event,) = await messages(redis, heard)
    assert orjson.loads(event) == {
        "epoch": reply.epoch,
        "version": reply.version,
        "rows": [[-5, score[0], None, 1], [7, score[1], None, 1], [-5, score[2], 2, 1]],
    }
    assert (await raw_changes(redis, SEASON))[-1] == event


async def test_scores_in_events_are_bare_integers_exact_to_the_last_digit(
    boards: BoardStore, redis: Redis, maker: Maker, heard: PubSub
) -> None:
    top = maker.result(9223372036854775807, SEASON.codec.max_points)
    await boards.submit(maker.batch(top))
    (event,) = await messages(redis, heard)
    score = SEASON.codec.encode(top.points, top.achieved_us)
    assert b'"rows":[[9223372036854775807,%d,null,1]]}' % score in event


async def test_versions_rise_by_one_a_call_that_changed_the_board_and_other_calls_tell_nothing(
    boards: BoardStore, redis: Redis, maker: Maker, heard: PubSub
) -> None:
    first = maker.batch(maker.result(1, 5), maker.result(2, 6))
    replies = [
        await boards.submit(batch)
        for batch in (
            first,
            first,
            maker.batch(maker.result(1, 4)),
            SubmitBatch(SEASON, 1, 0, maker.next_offset, maker.next_offset + 5),
            maker.batch(maker.result(1, 9), start=maker.next_offset + 5),
        )
    ]
    assert [reply.version for reply in replies] == [2, 2, 2, 2, 3]
    assert [orjson.loads(event)["version"] for event in await messages(redis, heard)] == [2, 3]
    assert await boards.position(SEASON.season_id) == (replies[-1].epoch, 3)


async def test_the_change_log_keeps_about_the_last_entries(redis: Redis, metrics: Metrics) -> None:
    boards = BoardStore(redis, Settings(log_length=50), metrics)
    await open_board(boards, SEASON)
    await settle(redis, SEASON)
    maker = Maker(SEASON)
    for points in range(400):
        await boards.submit(maker.batch(maker.result(1, points)))
    assert 50 <= await redis.xlen(KEYS.log) < 200
    assert (await changes(redis, SEASON))[-1]["version"] == 401


async def test_another_server_makes_a_new_epoch_with_a_change_log_of_its_own(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    before = await boards.submit(maker.batch(maker.result(1, 5)))
    await redis.hset(KEYS.meta, "run_id", "0" * 40)
    after = await boards.submit(maker.batch(maker.result(1, 6)))
    assert after.epoch != before.epoch
    assert len(after.epoch) == 16
    assert after.version == 1
    assert [event["epoch"] for event in await changes(redis, SEASON)] == [after.epoch]


async def test_a_batch_without_effect_on_another_server_leaves_the_epoch_alone(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    before = await boards.submit(maker.batch(maker.result(1, 5)))
    await redis.hset(KEYS.meta, "run_id", "0" * 40)
    after = await boards.submit(maker.batch(maker.result(1, 5)))
    assert (after.epoch, after.version) == (before.epoch, before.version)


async def test_a_removed_board_is_told_and_takes_nothing_before_it_is_rebuilt_f6(
    boards: BoardStore, redis: Redis, maker: Maker, heard: PubSub
) -> None:
    batch = maker.batch(*[maker.result(player, 5) for player in range(3)])
    before = await boards.submit(batch)
    await boards.rebuilds.remove_board(SEASON.season_id)
    assert (await boards.submit(batch)).kind == "rebuild"
    reset = orjson.loads((await messages(redis, heard))[-1])
    assert (reset["version"], reset["rows"], reset["reason"]) == (1, [], "reset")
    assert reset["epoch"] != before.epoch
    assert await boards.position(SEASON.season_id) == (reset["epoch"], 1)
    assert await redis.keys("lb:*dedup*") == []


async def test_a_removal_waits_for_a_rebuild_under_way(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    async with boards.rebuilds.lock(SEASON.season_id, "a rebuild"):
        removing = asyncio.create_task(boards.rebuilds.remove_board(SEASON.season_id))
        await asyncio.wait({removing}, timeout=0.2)
        assert await boards.applied(SEASON.season_id) is not None
    await removing
    assert await boards.applied(SEASON.season_id) is None


async def test_a_board_that_was_removed_and_made_again_ranks_anew_with_the_same_matches_f6(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    old = maker.batch(*[maker.result(player, 5) for player in range(3)])
    await boards.submit(old)
    await boards.rebuilds.remove_board(SEASON.season_id)
    await open_board(boards, SEASON, offsets={0: maker.next_offset})
    await settle(redis, SEASON)
    reply = await boards.submit(maker.batch(old.results[1]))
    assert reply.outcomes == [(1, None, 1)]
    assert await redis.zcard(KEYS.zset) == 1
