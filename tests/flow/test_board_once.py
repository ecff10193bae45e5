"""Exactly once: ranges, positions, markers, and PostgreSQL's word where a marker may be missing."""

import pytest
from redis.asyncio import Redis

from server.board.batch import Asked, SubmitBatch
from server.board.keys import BoardKeys
from server.board.position import Applied, new_epoch
from server.board.store import BoardStore
from server.core.results import Result
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.boards import (
    LIFE_S,
    Maker,
    codes,
    dump,
    make_season,
    nothing_elsewhere,
    now_us,
    open_board,
    order,
    settle,
)

SEASON = make_season("sum")
KEYS = BoardKeys(SEASON.season_id)


@pytest.fixture
async def maker(boards: BoardStore, redis: Redis) -> Maker:
    """Of an empty board of log 1 that was rebuilt long ago."""
    await open_board(boards, SEASON)
    await settle(redis, SEASON)
    return Maker(SEASON)


def old(maker: Maker, player: int, points: int) -> Result:
    """A result that was achieved before any marker of today."""
    return maker.result(player, points, at=-LIFE_S)


def again(batch: SubmitBatch, asked: Asked | None = None) -> SubmitBatch:
    return SubmitBatch(
        batch.season, batch.log, batch.partition, batch.start, batch.end, batch.offsets, batch.results, asked
    )


# -- ranges


async def test_a_batch_that_is_delivered_twice_changes_nothing_the_second_time(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    batch = maker.batch(maker.result(1, 5), maker.result(2, 7))
    first = await boards.submit(batch)
    before = await dump(redis)
    second = await boards.submit(batch)
    assert codes(second) == [-2, -2]
    assert (second.kind, second.epoch, second.version, second.applied) == (
        "done",
        first.epoch,
        first.version,
        2,
    )
    assert await dump(redis) == before


async def test_an_overlapping_batch_counts_only_what_is_new(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    results = [maker.result(player, 5) for player in range(4)]
    await boards.submit(maker.batch(*results[:3], start=0))
    reply = await boards.submit(maker.batch(*results[1:], start=1))
    assert codes(reply) == [-2, -2, 1]
    assert len(await order(redis, SEASON)) == 4


async def test_a_range_that_does_not_follow_is_answered_with_where_to_go_on(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    await boards.submit(maker.batch(maker.result(1, 5)))
    before = await dump(redis)
    reply = await boards.submit(maker.batch(maker.result(2, 5), start=3))
    assert (reply.kind, reply.applied, reply.outcomes) == ("seek", 1, [])
    assert await dump(redis) == before


async def test_a_range_without_results_moves_applied_alone(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    before = await boards.position(SEASON.season_id)
    reply = await boards.submit(SubmitBatch(SEASON, 1, 0, 0, 40))
    assert (reply.kind, reply.applied) == ("done", 40)
    assert await boards.applied(SEASON.season_id) == Applied(1, {0: 40})
    assert await boards.position(SEASON.season_id) == before


async def test_each_partition_has_its_own_position(boards: BoardStore, maker: Maker) -> None:
    await boards.submit(SubmitBatch(SEASON, 1, 0, 0, 40))
    assert (await boards.submit(SubmitBatch(SEASON, 1, 7, 5, 9))).kind == "seek"
    assert (await boards.submit(SubmitBatch(SEASON, 1, 7, 0, 9))).applied == 9
    assert await boards.applied(SEASON.season_id) == Applied(1, {0: 40, 7: 9})


async def test_batches_of_one_pipeline_follow_each_other(boards: BoardStore, maker: Maker) -> None:
    batches = [maker.batch(maker.result(player, 5)) for player in range(3)]
    replies = await boards.submit_many([batches[0], batches[2], batches[1]])
    assert [reply.kind for reply in replies] == ["done", "seek", "done"]


@pytest.mark.parametrize("log", [0, 2])
async def test_a_board_of_another_log_takes_nothing_and_wants_a_rebuild(
    boards: BoardStore, redis: Redis, maker: Maker, log: int
) -> None:
    await boards.submit(maker.batch(maker.result(1, 5)))
    before = await dump(redis)
    other = Maker(SEASON, log=log)
    reply = await boards.submit(other.batch(other.result(2, 5)))
    assert (reply.kind, reply.outcomes) == ("rebuild", [])
    assert await dump(redis) == before


async def test_a_board_whose_keys_are_gone_wants_a_rebuild(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    await redis.delete(*KEYS.board, KEYS.lost)
    assert (await boards.submit(maker.batch(maker.result(1, 5)))).kind == "rebuild"
    assert await dump(redis) == {}


@pytest.mark.parametrize("key", [KEYS.zset, KEYS.meta, KEYS.applied])
async def test_a_board_that_lost_one_of_its_keys_is_lost_and_does_not_go_on_from_applied(
    boards: BoardStore, redis: Redis, maker: Maker, key: str
) -> None:
    await boards.submit(maker.batch(maker.result(1, 5)))
    await redis.delete(key)
    assert (await boards.submit(maker.batch())).kind == "rebuild", "an empty range shows it, too"
    assert await boards.applied(SEASON.season_id) is None, "whoever looks at the board sees that it is lost"


async def test_a_board_without_players_has_no_order_to_lose(boards: BoardStore, maker: Maker) -> None:
    assert (await boards.submit(maker.batch())).kind == "done"


# -- markers


async def test_a_marker_names_the_record_that_counts_and_ends_with_its_life(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    result = maker.result(1, 5)
    await boards.submit(maker.batch(maker.result(2, 5), result))
    key = KEYS.dedup(result.match_id, 1)
    assert await redis.get(key) == b"1:0:1"
    assert LIFE_S - 5 <= await redis.ttl(key) <= LIFE_S


async def test_a_retry_is_seen_although_it_comes_from_another_partition(
    boards: BoardStore, maker: Maker
) -> None:
    result = maker.result(1, 5)
    other = Maker(SEASON, partition=3)
    await boards.submit(maker.batch(result))
    assert codes(await boards.submit(other.batch(result))) == [-1]


async def test_a_marker_at_this_very_position_is_no_duplicate(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    result = maker.result(1, 5)
    await redis.set(KEYS.dedup(result.match_id, 1), "1:0:0")
    assert codes(await boards.submit(maker.batch(result))) == [1]


@pytest.mark.parametrize("marker", ["2:0:0", "11:0:9", "0:0:0", ""])
async def test_a_marker_of_another_log_is_none(
    boards: BoardStore, redis: Redis, maker: Maker, marker: str
) -> None:
    result = maker.result(1, 5)
    await redis.set(KEYS.dedup(result.match_id, 1), marker)
    assert codes(await boards.submit(maker.batch(result))) == [1]


async def test_the_marker_of_a_result_dated_ahead_lives_until_it_is_old(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    ahead = maker.result(1, 5, at=60 + 7200)
    assert codes(await boards.submit(maker.batch(ahead))) == [1]
    assert await redis.ttl(KEYS.dedup(ahead.match_id, 1)) > 7200 + LIFE_S - 60


# -- PostgreSQL is asked


async def test_an_ordinary_board_asks_nobody(boards: BoardStore, maker: Maker) -> None:
    assert (await boards.submit(maker.batch(maker.result(1, 5)))).kind == "done"


async def test_an_old_result_is_not_taken_without_postgresqls_word(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    batch = maker.batch(maker.result(1, 5), old(maker, 2, 5))
    before = await dump(redis)
    assert (await boards.submit(batch)).kind == "ask"
    assert await dump(redis) == before
    assert codes(await boards.submit(again(batch, nothing_elsewhere(batch)))) == [1, 1]


async def test_a_result_that_postgresql_has_at_another_position_was_seen_before(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    batch = maker.batch(old(maker, 1, 5), old(maker, 2, 5))
    reply = await boards.submit(again(batch, Asked(0, False, [True, False])))
    assert codes(reply) == [-1, 1]
    assert [player for player, _ in await order(redis, SEASON)] == [2]


@pytest.mark.parametrize(
    "word",
    [
        pytest.param(Asked(0, True, [False]), id="half a life behind"),
        pytest.param(Asked(-1, False, [False]), id="on another log"),
    ],
)
async def test_an_old_result_waits_for_a_postgresql_that_may_not_know_it_yet(
    boards: BoardStore, redis: Redis, maker: Maker, word: Asked
) -> None:
    batch = maker.batch(old(maker, 1, 5))
    before = await dump(redis)
    assert (await boards.submit(again(batch, word))).kind == "wait"
    assert await dump(redis) == before


async def test_a_marker_of_this_log_needs_no_word(boards: BoardStore, redis: Redis, maker: Maker) -> None:
    result = old(maker, 1, 5)
    await redis.set(KEYS.dedup(result.match_id, 1), "1:0:77")
    assert codes(await boards.submit(maker.batch(result))) == [-1]


async def test_results_below_applied_need_no_word(boards: BoardStore, redis: Redis, maker: Maker) -> None:
    batch = maker.batch(old(maker, 1, 5))
    await boards.submit(again(batch, nothing_elsewhere(batch)))
    await redis.delete(KEYS.dedup(batch.results[0].match_id, 1))
    assert codes(await boards.submit(batch)) == [-2]


async def test_of_two_old_records_in_one_batch_the_first_counts(boards: BoardStore, maker: Maker) -> None:
    result = old(maker, 1, 5)
    batch = maker.batch(result, result)
    reply = await boards.submit(again(batch, Asked(2, False, [False, True])))
    assert codes(reply) == [1, -1]


async def test_a_rebuilt_board_asks_and_waits_until_postgresql_has_passed_where_it_was_read(
    boards: BoardStore, redis: Redis
) -> None:
    await open_board(boards, SEASON, offsets={0: 10, 3: 20})
    maker = Maker(SEASON, partition=3, next_offset=20)
    batch = maker.batch(maker.result(1, 5))
    assert (await boards.submit(batch)).kind == "ask"
    assert (await boards.submit(again(batch, nothing_elsewhere(batch, sql_next=19)))).kind == "wait"
    assert (await boards.submit(again(batch, nothing_elsewhere(batch, sql_next=20)))).kind == "done"
    await settle(redis, SEASON)
    assert (await boards.submit(maker.batch(maker.result(1, 5)))).kind == "done"


async def test_a_board_that_stood_still_longer_than_markers_live_asks_for_a_markers_life(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    await boards.submit(maker.batch(maker.result(1, 5)))
    await redis.hincrby(KEYS.meta, "moved", -LIFE_S)
    batch = maker.batch(maker.result(1, 5))
    before = await dump(redis)
    assert (await boards.submit(batch)).kind == "ask"
    assert (await boards.submit(again(batch, nothing_elsewhere(batch, sql_next=0)))).kind == "wait"
    assert await dump(redis) == before
    assert (await boards.submit(again(batch, nothing_elsewhere(batch)))).kind == "done"

    after = maker.batch(maker.result(1, 5))
    assert (await boards.submit(after)).kind == "ask", "it moves again, but its older markers are gone"
    assert (await boards.submit(again(after, nothing_elsewhere(after, sql_next=1)))).kind == "done"


async def test_an_empty_range_after_a_standstill_begins_the_time_of_asking(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    await boards.submit(SubmitBatch(SEASON, 1, 0, 0, 5))
    await boards.submit(SubmitBatch(SEASON, 1, 1, 0, 9))
    await redis.hincrby(KEYS.meta, "moved", -LIFE_S)
    await boards.submit(SubmitBatch(SEASON, 1, 0, 5, 6))
    maker = Maker(SEASON, partition=1, next_offset=9)
    batch = maker.batch(maker.result(1, 5))
    assert (await boards.submit(again(batch, nothing_elsewhere(batch, sql_next=8)))).kind == "wait"
    assert (await boards.submit(again(batch, nothing_elsewhere(batch, sql_next=9)))).kind == "done"


async def test_a_zombies_repetition_does_not_hide_a_standstill(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    stale = maker.batch(maker.result(1, 5))
    await boards.submit(stale)
    await boards.submit(maker.batch(maker.result(2, 5)))
    await redis.hincrby(KEYS.meta, "moved", -LIFE_S)
    await boards.submit(stale)
    assert (await boards.submit(maker.batch(maker.result(3, 5)))).kind == "ask"


async def test_a_longer_life_of_markers_asks_until_those_of_the_shorter_one_are_gone(
    redis: Redis, metrics: Metrics, boards: BoardStore, maker: Maker
) -> None:
    await boards.submit(maker.batch(maker.result(1, 5)))
    longer = BoardStore(redis, Settings(marker_life_s=2 * LIFE_S), metrics)
    assert (await longer.submit(maker.batch(maker.result(1, 5)))).kind == "ask"


async def test_a_marker_that_is_gone_before_the_retry_comes_is_made_up_for_by_postgresql_a13(
    redis: Redis, metrics: Metrics, boards: BoardStore, maker: Maker
) -> None:
    result = Result(maker.result(1, 5).match_id, 1, SEASON.season_id, 5, now_us() - 2_500_000)
    short = BoardStore(redis, Settings(marker_life_s=2), metrics)
    first, retry = maker.batch(result), maker.batch(result)
    reply = await short.submit(again(first, nothing_elsewhere(first)))
    assert codes(reply) == [1]
    await redis.delete(KEYS.dedup(result.match_id, 1))
    assert (await short.submit(retry)).kind == "ask"
    assert codes(await short.submit(again(retry, Asked(2, False, [True])))) == [-1]


async def test_a_board_in_the_making_takes_what_the_live_one_has_marked(
    boards: BoardStore, redis: Redis, maker: Maker
) -> None:
    batch = maker.batch(maker.result(1, 5))
    await boards.submit(batch)
    keys = BoardKeys(SEASON.season_id, new_epoch())
    await boards.rebuilds.begin(keys, SEASON)
    assert (await boards.submit(maker.batch(*batch.results, start=0, keys=keys))).kind == "rebuild"
    await boards.rebuilds.finish(keys, 0, Applied(1))
    assert codes(await boards.submit(maker.batch(*batch.results, start=0, keys=keys))) == [1]
    assert await redis.exists(keys.log) == 0
