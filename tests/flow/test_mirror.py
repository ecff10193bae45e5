"""The law of the mirror: after any changes, losses and reconnects it equals ZREVRANGE, member by member."""

import asyncio
import random
from collections.abc import AsyncIterator
from functools import partial

import pytest
from redis.asyncio import Redis

from server.board.store import BoardStore
from server.core.codec import MAX_SCORE
from server.core.season import Season
from server.live.mirrors import Mirrors
from tests.flow.board_writer import BoardWriter
from tests.flow.boards import Maker, make_season, open_board, settle
from tests.flow.mirroring import Watched, mirrors_of, watched
from tests.waiting import until

EXTREMES = [0, -1, 1, 9, 10, -10, 2**53 + 1, 10**18, -(2**63), 2**63 - 1]


def is_stale(mirrors: Mirrors, board: str, word: str) -> bool:
    mirror = mirrors.get(board)
    return mirror is not None and mirror.stale is not None and mirror.stale[0] == word


@pytest.fixture
def season() -> Season:
    return make_season()


@pytest.fixture
def writer(redis: Redis, season: Season) -> BoardWriter:
    return BoardWriter(redis, season)


@pytest.fixture
async def followed(writer: BoardWriter, redis_url: str, season: Season) -> AsyncIterator[Watched]:
    """The mirror of a board of three players."""
    await writer.replace({1: 100, 2: 200, 3: 300})
    async with watched(redis_url, season) as mirror:
        await mirror.reaches(writer)
        yield mirror


@pytest.mark.parametrize("protocol", [2, 3])
async def test_a_loaded_board_equals_zrevrange_under_both_protocols_a3(
    writer: BoardWriter, redis_url: str, season: Season, protocol: int
) -> None:
    dice = random.Random(protocol)
    board = {dice.getrandbits(64) - 2**63: dice.getrandbits(53) for _ in range(5000)}
    board |= dict.fromkeys(range(-300, 300), 77) | dict.fromkeys(EXTREMES, MAX_SCORE)
    board |= {5_000_000: MAX_SCORE - 1, 5_000_001: 2**52 + 1, 5_000_002: 0}
    await writer.replace(board)
    async with watched(f"{redis_url}?protocol={protocol}", season, mirror_page=100) as mirror:
        await mirror.reaches(writer)
        assert mirror.mirror.total == len(board)


async def test_changes_and_removals_are_followed(followed: Watched, writer: BoardWriter) -> None:
    await writer.change({4: 250, 1: 400})
    await writer.change({2: None, 5: 400})
    await followed.reaches(writer)
    assert [player for player, _ in followed.rows()] == [5, 1, 3, 4]
    assert followed.stale_words() == []


async def test_rows_tell_points_and_the_start_of_the_tick(
    followed: Watched, writer: BoardWriter, season: Season
) -> None:
    achieved_us = season.starts_us + 61_500_000
    await writer.change({7: season.codec.encode(1518, achieved_us)})
    await followed.reaches(writer)
    first = followed.mirror.rows(1, 1)[0]
    assert first == (7, 1518, season.starts_us // 1000 + 61_000)


async def test_a_lost_message_is_read_from_the_change_log(followed: Watched, writer: BoardWriter) -> None:
    await writer.change({4: 250}, lost=True)
    await writer.change({4: 251, 1: None})
    await followed.reaches(writer)
    assert followed.count("mirror_holes_total", board="s12", filled="log") == 1
    assert followed.count("mirror_holes_total", board="s12", filled="reload") == 0


async def test_the_last_message_lost_is_found_although_nothing_follows(
    followed: Watched, writer: BoardWriter
) -> None:
    await writer.change({4: 250}, lost=True)
    await followed.reaches(writer)
    assert followed.count("mirror_holes_total", board="s12", filled="log") == 1
    assert not followed.count("retries_total", part="board_events", reason="deaf")  # it answers pings


async def test_a_hole_that_the_log_does_not_hold_any_more_is_read_anew(
    followed: Watched, writer: BoardWriter
) -> None:
    await writer.change({4: 250}, lost=True)
    await writer.change({5: 260}, lost=True, length=1)
    await writer.change({6: 270}, length=1)
    await followed.reaches(writer)
    assert followed.stale_words() == ["gap"]
    assert followed.count("mirror_holes_total", board="s12", filled="reload") == 1


async def test_a_new_epoch_is_a_new_picture_with_its_reason(followed: Watched, writer: BoardWriter) -> None:
    followed.mirror.take_changes()
    await writer.replace({8: 1, 9: 2}, reason="closed")
    await followed.reaches(writer)
    assert followed.mirror.reason == "closed"
    assert followed.mirror.take_changes() is None
    await writer.replace({8: 5}, lost=True)
    await followed.reaches(writer)
    assert followed.mirror.reason == "replaced"


async def test_a_reset_board_is_empty_and_starts_anew_f6(followed: Watched, writer: BoardWriter) -> None:
    await writer.replace({}, reason="reset")
    await followed.reaches(writer)
    assert (followed.mirror.total, followed.mirror.reason) == (0, "reset")
    await writer.change({1: 5})
    await followed.reaches(writer)
    assert followed.rows() == [(1, 5)]


async def test_a_board_that_is_still_made_is_empty_without_an_epoch_until_it_exists_d14(
    writer: BoardWriter, redis_url: str, season: Season
) -> None:
    async with watched(redis_url, season) as mirror:
        assert (mirror.mirror.epoch, mirror.mirror.total, mirror.mirror.rows(1, 10)) == (None, 0, [])
        assert mirror.mirror.stale is not None
        assert mirror.mirror.stale[0] == "building"
        await writer.replace({1: 100})
        await mirror.reaches(writer)


async def test_a_lost_board_is_served_on_and_called_lost(followed: Watched, writer: BoardWriter) -> None:
    rows = followed.rows()
    await writer.redis.delete(*writer.keys.board)
    await until(lambda: followed.stale_words() == ["lost"])
    assert followed.rows() == rows
    await writer.replace({1: 101})
    await followed.reaches(writer)


async def test_a_deleted_order_is_lost_even_though_its_position_stands(
    followed: Watched, writer: BoardWriter
) -> None:
    rows = followed.rows()
    await writer.redis.delete(writer.keys.zset)
    await until(lambda: followed.stale_words() == ["lost"])
    assert followed.rows() == rows


async def test_a_player_whom_somebody_removed_by_hand_is_noticed(
    followed: Watched, writer: BoardWriter, redis: Redis
) -> None:
    await redis.zrem(writer.keys.zset, 2)
    await until(lambda: followed.mirror.total == 2)
    assert await followed.equals(redis)
    assert followed.stale_words() == ["differs"]


async def test_a_board_that_went_back_is_called_so_until_its_new_epoch(
    followed: Watched, writer: BoardWriter
) -> None:
    await writer.change({1: 500})
    await followed.reaches(writer)
    await writer.redis.hset(writer.keys.meta, "version", "1")
    await until(lambda: followed.stale_words() == ["went_back"])
    assert followed.mirror.version == writer.version
    await writer.replace({1: 100, 2: 200, 3: 300})
    await followed.reaches(writer)


async def test_a_member_that_is_no_player_makes_the_board_unreadable_until_it_is_removed(
    writer: BoardWriter, redis_url: str, season: Season
) -> None:
    await writer.replace({1: 100})
    for member, score in (("007", 1.0), ("ada", 1.0), ("9223372036854775808", 1.0), ("5", 0.5)):
        await writer.redis.zadd(writer.keys.zset, {member: score})
        async with mirrors_of(redis_url, season) as (mirrors, metrics):
            opening = asyncio.create_task(mirrors.open(season.board))
            await until(partial(is_stale, mirrors, season.board, "unreadable"))
            await writer.redis.zrem(writer.keys.zset, member)
            await Watched(await opening, metrics).reaches(writer)


async def test_a_message_that_is_no_event_is_counted_and_does_no_harm(
    followed: Watched, writer: BoardWriter
) -> None:
    await writer.redis.publish(writer.keys.events, b'{"epoch":')
    await writer.change({1: 500})
    await followed.reaches(writer)
    assert followed.count("mirror_events_total", board="s12", outcome="bad") == 1


async def test_a_killed_subscription_is_made_again_and_nothing_is_missed_a7(
    followed: Watched, writer: BoardWriter
) -> None:
    for round_ in range(3):
        await writer.redis.client_kill_filter(_type="pubsub")
        await writer.change({round_: 1000 + round_})
        await followed.reaches(writer)

    async def a_message_is_heard() -> bool:
        await writer.change({50: 50})
        return followed.count("mirror_events_total", board="s12", outcome="next") > 0

    await until(a_message_is_heard)
    await followed.reaches(writer)


async def test_a_board_that_moves_while_it_is_read_is_shown_only_as_it_really_was(
    writer: BoardWriter, redis_url: str, season: Season
) -> None:
    dice = random.Random(4)
    await writer.replace({player: dice.getrandbits(20) for player in range(3000)})

    async def keep_moving() -> None:
        while not stop.is_set():
            lost = dice.random() < 0.1
            rows = {dice.randrange(4000): dice.choice([None, dice.getrandbits(20)]) for _ in range(20)}
            await writer.change(rows, lost=lost)

    stop = asyncio.Event()
    moving = asyncio.create_task(keep_moving())
    async with watched(redis_url, season, mirror_page=20) as mirror:
        wrong = mirror.compare_with(writer)
        try:
            await until(lambda: len(mirror.told) > 50)
        finally:
            stop.set()
            await moving
        await mirror.reaches(writer)
        assert wrong == []


@pytest.mark.parametrize("seed", range(4))
async def test_after_any_changes_losses_and_reconnects_the_mirror_equals_zrevrange(
    writer: BoardWriter, redis_url: str, season: Season, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.core.order.MERGE_AT", 60)
    dice = random.Random(seed)
    await writer.replace({})

    async def one_step() -> None:
        roll = dice.random()
        if roll < 0.04:
            board = {dice.choice(players): dice.randrange(9) for _ in range(dice.randrange(60))}
            await writer.replace(board, lost=dice.random() < 0.5)
        elif roll < 0.07:
            await writer.redis.client_kill_filter(_type="pubsub")
        else:
            rows = {
                dice.choice(players): None
                if dice.random() < 0.2
                else dice.choice([dice.randrange(9), MAX_SCORE])
                for _ in range(dice.randrange(12))
            }
            await writer.change(rows, lost=roll < 0.2, length=dice.choice([1, 5, 1000]))

    players = [*EXTREMES, *range(-30, 60), *(dice.getrandbits(64) - 2**63 for _ in range(30))]
    async with watched(redis_url, season, mirror_page=10) as mirror:
        wrong = mirror.compare_with(writer)
        for _ in range(12):
            for _ in range(dice.randrange(1, 30)):
                await one_step()
            await mirror.reaches(writer)
        assert wrong == []


async def test_the_real_scripts_results_are_followed(
    boards: BoardStore, redis: Redis, redis_url: str, season: Season
) -> None:
    await open_board(boards, season)
    await settle(redis, season)
    maker, dice = Maker(season), random.Random(8)
    async with watched(redis_url, season) as mirror:
        reply = None
        for _ in range(20):
            results = [
                maker.result(dice.randrange(80), dice.randrange(50), at=dice.randrange(50)) for _ in range(25)
            ]
            reply = await boards.submit(maker.batch(*results))
        assert reply is not None
        position = (reply.epoch, reply.version)
        await until(lambda: (mirror.mirror.epoch, mirror.mirror.version) == position)
        assert await mirror.equals(redis)
        assert mirror.stale_words() == []
