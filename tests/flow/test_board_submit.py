"""What one result does to a board, by both operators, on the real server."""

import pytest
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from server.board import store
from server.board.batch import BatchInvalid, SubmitBatch, submit_args
from server.board.keys import BoardKeys
from server.board.position import Applied
from server.board.store import BoardStore, Progress
from server.core.codec import OutOfRange
from server.core.results import Result
from server.core.season import Operator, Season
from server.metrics import Metrics
from tests.flow.boards import Maker, codes, dump, make_season, open_board, order, players, settle

A, B, C = 1, 2, 3


async def ordinary(boards: BoardStore, redis: Redis, season: Season) -> Maker:
    """An empty board that was rebuilt long ago."""
    await open_board(boards, season)
    await settle(redis, season)
    return Maker(season)


@pytest.fixture
async def best(boards: BoardStore, redis: Redis) -> Maker:
    return await ordinary(boards, redis, make_season("best"))


@pytest.fixture
async def total(boards: BoardStore, redis: Redis) -> Maker:
    return await ordinary(boards, redis, make_season("sum"))


async def test_each_result_answers_as_a_call_of_its_own_would(boards: BoardStore, best: Maker) -> None:
    first = best.result(A, 100)
    reply = await boards.submit(best.batch(first, best.result(A, 90), first, best.result(B, 200)))
    assert reply.kind == "done"
    assert codes(reply) == [1, 0, -1, 1]
    assert [(outcome.before, outcome.after) for outcome in reply.outcomes] == [
        (None, 1),
        (None, None),
        (None, None),
        (None, 1),
    ]


async def test_a_board_counts_results_that_are_no_repeats_whether_they_are_records_or_not(
    boards: BoardStore, best: Maker
) -> None:
    first = best.result(A, 100)
    batch = best.batch(first, best.result(A, 90), first, best.result(B, 200))
    for _ in range(2):  # delivered twice
        await boards.submit(batch)

    assert await boards.progress(12) == Progress(Applied(1, {0: 4}), counted=3)
    assert await boards.progress(13) is None


async def test_a_record_says_the_rank_before_and_after(boards: BoardStore, best: Maker) -> None:
    await boards.submit(best.batch(best.result(A, 30), best.result(B, 20), best.result(C, 10)))
    reply = await boards.submit(best.batch(best.result(C, 40), best.result(A, 50)))
    assert reply.outcomes == [(1, 3, 1), (1, 2, 1)]


async def test_an_improvement_counts_as_a_change_although_no_rank_moved_a4(
    boards: BoardStore, best: Maker
) -> None:
    await boards.submit(best.batch(best.result(A, 100)))
    reply = await boards.submit(
        best.batch(best.result(A, 101), best.result(A, 101, at=1), best.result(A, 99), best.result(B, 50))
    )
    assert reply.outcomes == [(1, 1, 1), (0, None, None), (0, None, None), (1, None, 2)]


async def test_a_lower_score_never_replaces_a_higher_one_and_adds_no_second_entry_f1(
    boards: BoardStore, redis: Redis, best: Maker
) -> None:
    await boards.submit(best.batch(best.result(A, 55), best.result(C, 45)))
    steps = {50: [A, B, C], 40: [A, B, C], 51: [A, B, C], 60: [B, A, C]}
    for points, expected in steps.items():
        await boards.submit(best.batch(best.result(B, points)))
        assert players(await order(redis, best.season)) == expected


async def test_equal_points_rank_by_who_got_there_first_never_by_name_f7(
    boards: BoardStore, redis: Redis, best: Maker
) -> None:
    await boards.submit(
        best.batch(best.result(9, 100, at=5), best.result(1, 100, at=3), best.result(5, 100, at=4))
    )
    assert players(await order(redis, best.season)) == [1, 5, 9]


async def test_the_same_tick_is_ordered_by_the_bytes_of_the_player_descending_f7(
    boards: BoardStore, redis: Redis, best: Maker
) -> None:
    ids = [-10, 9223372036854775807, 1, -1, 10, 0, -9223372036854775808, 9]
    await boards.submit(best.batch(*[best.result(player, 7) for player in ids]))
    assert players(await order(redis, best.season)) == [
        9223372036854775807,
        9,
        10,
        1,
        0,
        -9223372036854775808,
        -10,
        -1,
    ]


async def test_a_later_or_lower_repetition_keeps_the_time_of_the_best_f2(
    boards: BoardStore, redis: Redis, best: Maker
) -> None:
    reply = await boards.submit(
        best.batch(
            best.result(A, 100, at=1),
            best.result(B, 100, at=2),
            best.result(A, 100, at=3),
            best.result(A, 90, at=4),
        )
    )
    assert codes(reply) == [1, 1, 0, 0]
    assert players(await order(redis, best.season)) == [A, B]


async def test_the_same_points_achieved_earlier_are_a_new_record(boards: BoardStore, best: Maker) -> None:
    await boards.submit(best.batch(best.result(A, 100, at=9), best.result(B, 100, at=8)))
    reply = await boards.submit(best.batch(best.result(A, 100, at=7)))
    assert reply.outcomes == [(1, 2, 1)]


@pytest.mark.parametrize("operator", ["best", "sum"])
async def test_zero_points_are_ranked_like_any_others_f5(
    boards: BoardStore, redis: Redis, operator: Operator
) -> None:
    maker = await ordinary(boards, redis, make_season(operator))
    reply = await boards.submit(maker.batch(maker.result(B, 0), maker.result(A, 0)))
    assert reply.outcomes == [(1, None, 1), (1, None, 2)]
    reply = await boards.submit(maker.batch(maker.result(B, 10), maker.result(B, 0)))
    assert reply.outcomes == [(1, 1, 1), (0, None, None)]
    assert players(await order(redis, maker.season)) == [B, A]


async def test_a_sum_adds_up_and_keeps_the_time_of_the_latest_points(
    boards: BoardStore, redis: Redis, total: Maker
) -> None:
    latest = total.result(A, 7, at=9)
    await boards.submit(total.batch(total.result(A, 5, at=3), latest, total.result(A, 1, at=4)))
    expected = total.season.codec.encode(13, latest.achieved_us)
    assert await order(redis, total.season) == [(A, expected)]


async def test_results_without_points_move_no_time_of_a_sum(
    boards: BoardStore, redis: Redis, total: Maker
) -> None:
    scored = total.result(A, 5, at=3)
    reply = await boards.submit(total.batch(total.result(A, 0, at=1), scored, total.result(A, 0, at=9)))
    assert codes(reply) == [1, 1, 0]
    assert await order(redis, total.season) == [(A, total.season.codec.encode(5, scored.achieved_us))]


async def test_a_sum_of_nothing_but_zeros_stands_at_tick_0(
    boards: BoardStore, redis: Redis, total: Maker
) -> None:
    await boards.submit(total.batch(total.result(A, 0, at=3), total.result(A, 0, at=4)))
    assert await order(redis, total.season) == [(A, total.season.codec.encode(0, total.season.starts_us))]


async def test_a_sum_above_the_seasons_maximum_stays_at_it_and_is_counted(
    boards: BoardStore, redis: Redis, metrics: Metrics
) -> None:
    maker = await ordinary(boards, redis, make_season("sum", points_bits=4, time_bits=32))
    late = maker.result(A, 9, at=5)
    reply = await boards.submit(maker.batch(maker.result(A, 9, at=1), late, maker.result(B, 15)))
    assert reply.saturated == 1
    assert codes(reply) == [1, 1, 1]
    assert (A, maker.season.codec.encode(15, late.achieved_us)) in await order(redis, maker.season)
    assert metrics.registry.get_sample_value("rankcast_saturated_total", {"board": "s12"}) == 1


@pytest.mark.parametrize("payload", [80, 120])
async def test_of_two_records_of_one_match_the_first_counts_f11(
    boards: BoardStore, redis: Redis, best: Maker, payload: int
) -> None:
    first = best.result(A, 100)
    again = Result(first.match_id, A, first.season_id, payload, first.achieved_us)
    await boards.submit(best.batch(first))
    reply = await boards.submit(best.batch(again, best.result(B, 110)))
    assert codes(reply) == [-1, 1]
    assert players(await order(redis, best.season)) == [B, A]


async def test_one_match_counts_for_each_of_its_players(boards: BoardStore, best: Maker) -> None:
    first = best.result(A, 100)
    reply = await boards.submit(best.batch(first, Result(first.match_id, B, 12, 90, first.achieved_us)))
    assert codes(reply) == [1, 1]


async def test_the_same_content_under_two_match_ids_counts_twice_in_a_sum_f11(
    boards: BoardStore, total: Maker
) -> None:
    reply = await boards.submit(total.batch(total.result(A, 5), total.result(A, 5)))
    assert codes(reply) == [1, 1]


async def test_a_batch_with_a_result_that_does_not_fit_writes_nothing(
    boards: BoardStore, redis: Redis, best: Maker
) -> None:
    await boards.submit(best.batch(best.result(A, 1)))
    before = await dump(redis)
    too_high = best.result(B, best.season.codec.max_points + 1)
    with pytest.raises(OutOfRange):
        await boards.submit(best.batch(best.result(C, 5), too_high))
    assert await dump(redis) == before


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("1 2 -5 0", id="negative score"),
        pytest.param("1 2 5.5 0", id="fraction"),
        pytest.param("1 2 nan 0", id="no number"),
        pytest.param("1 2 9007199254740992 0", id="score above the season's bits"),
        pytest.param("1 x 5 0", id="player that is none"),
        pytest.param("0 2 5 0", id="offset that does not rise"),
        pytest.param("2 2 5 0", id="offset beyond the range"),
        pytest.param("1 2 5", id="missing value"),
        pytest.param("1 2 5 0 0", id="extra value"),
    ],
)
async def test_the_script_itself_refuses_a_batch_with_one_bad_result_and_writes_nothing(
    boards: BoardStore, redis: Redis, best: Maker, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    before = await dump(redis)
    real = submit_args

    def spoiled(batch: SubmitBatch, life: int, length: int, epoch: str) -> list[str | int]:
        args = real(batch, life, length, epoch)
        good = str(args[-1]).splitlines()
        return [*args[:-1], f"{good[0]}\n{line}\n"]

    monkeypatch.setattr(store, "submit_args", spoiled)
    with pytest.raises(BatchInvalid, match="result 2"):
        await boards.submit(best.batch(best.result(A, 5), best.result(B, 5)))
    assert await dump(redis) == before


@pytest.mark.parametrize("part", ["zset", "meta", "applied", "log"])
async def test_a_key_of_another_type_is_refused_before_anything_is_written(
    boards: BoardStore, redis: Redis, best: Maker, part: str
) -> None:
    key = getattr(BoardKeys(12), part)
    await redis.delete(key)
    await redis.set(key, "not ours")
    before = await dump(redis)
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        await boards.submit(best.batch(best.result(A, 5)))
    assert await dump(redis) == before


async def test_a_full_server_takes_all_of_a_batch_or_nothing(
    boards: BoardStore, redis: Redis, best: Maker
) -> None:
    before = await dump(redis)
    batch = best.batch(best.result(A, 5))
    await redis.config_set("maxmemory", "1mb")
    try:
        with pytest.raises(ResponseError, match="maxmemory"):
            await boards.submit(batch)
    finally:
        await redis.config_set("maxmemory", "0")
    assert await dump(redis) == before
    assert codes(await boards.submit(batch)) == [1]


async def test_players_who_left_and_came_back_are_ranked_without_holes_f4(
    boards: BoardStore, redis: Redis, best: Maker
) -> None:
    await boards.submit(best.batch(*[best.result(player, 500 - player) for player in range(103)]))
    await redis.zrem(BoardKeys(12).zset, 0, 50, 100, 101, 102)
    reply = await boards.submit(best.batch(best.result(50, 1), best.result(200, 1000)))
    assert reply.outcomes == [(1, None, 99), (1, None, 1)]
    assert players(await order(redis, best.season)) == [200, *range(1, 50), *range(51, 100), 50]


async def test_batches_are_refused_where_they_cannot_be_right(best: Maker) -> None:
    with pytest.raises(BatchInvalid, match="501 results are above 500"):
        best.batch(*[best.result(player, 1) for player in range(501)])
    with pytest.raises(BatchInvalid, match="0 offsets"):
        SubmitBatch(best.season, 1, 0, 0, 1, [], [best.result(A, 1)])
    with pytest.raises(BatchInvalid, match="5 to 4"):
        SubmitBatch(best.season, 1, 0, 5, 4)
    with pytest.raises(BatchInvalid, match="season 13"):
        SubmitBatch(best.season, 1, 0, 0, 1, [0], [Result("0" * 36, A, 13, 1, 0)])
