"""When Redis or the way to it breaks, mirrors serve the last picture, stale, and are right again later."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from server.board.connection import connect
from server.core.season import Season
from server.embedded.valkey import Valkey
from server.errors import RankcastError
from tests.flow.board_writer import BoardWriter
from tests.flow.boards import make_season
from tests.flow.deaf_wire import wire_to
from tests.flow.mirroring import Watched, mirrors_of, watched
from tests.waiting import until

BOARD = {player: player % 50 for player in range(-200, 300)}


@pytest.fixture
def season() -> Season:
    return make_season()


@pytest.fixture
async def own_redis(own_valkey: Valkey) -> AsyncIterator[Redis]:
    """A client of a Valkey that the test may break."""
    async with connect(own_valkey.address) as client:
        yield client


@pytest.fixture
async def writer(own_redis: Redis, season: Season) -> BoardWriter:
    writer = BoardWriter(own_redis, season)
    await writer.replace(BOARD)
    return writer


def stale_word(mirror: Watched) -> str | None:
    return mirror.mirror.stale[0] if mirror.mirror.stale else None


async def test_after_a_restart_of_redis_the_mirror_goes_on_where_it_was(
    own_valkey: Valkey, writer: BoardWriter, season: Season
) -> None:
    async with watched(own_valkey.address, season) as mirror:
        await mirror.reaches(writer)
        await own_valkey.restart()
        await writer.change({1: 1000})
        await mirror.reaches(writer)
        assert mirror.count("mirror_holes_total", board="s12", filled="reload") == 0


async def test_a_killed_redis_leaves_the_last_picture_stale_until_it_is_back(
    own_valkey: Valkey, writer: BoardWriter, season: Season
) -> None:
    async with watched(own_valkey.address, season) as mirror:
        await mirror.reaches(writer)
        rows = mirror.rows()
        own_valkey.kill()
        await until(lambda: stale_word(mirror) == "unreachable")
        assert mirror.rows() == rows
        await own_valkey.start()
        await writer.replace({7: 7})
        await mirror.reaches(writer)
        assert mirror.count("retries_total", part="mirror", reason="ConnectionError") > 0


async def test_a_redis_that_lost_everything_leaves_the_board_lost_until_it_is_rebuilt(
    own_valkey: Valkey, own_redis: Redis, writer: BoardWriter, season: Season
) -> None:
    async with watched(own_valkey.address, season) as mirror:
        await mirror.reaches(writer)
        rows = mirror.rows()
        await own_redis.flushall()
        await own_valkey.restart()
        await until(lambda: stale_word(mirror) == "lost")
        assert mirror.rows() == rows
        await writer.replace({8: 8})
        await mirror.reaches(writer)


async def test_a_frozen_redis_makes_the_picture_stale_since_it_was_last_heard_of(
    own_valkey: Valkey, writer: BoardWriter, season: Season
) -> None:
    async with watched(own_valkey.address, season) as mirror:
        await mirror.reaches(writer)
        own_valkey.pause()
        try:
            await until(lambda: stale_word(mirror) == "unreachable")
        finally:
            own_valkey.resume()
        await writer.change({1: 1000})
        await mirror.reaches(writer)
        assert mirror.count("retries_total", part="mirror", reason="TimeoutError") > 0


async def test_a_deaf_subscription_is_noticed_and_made_again_a7(
    own_valkey: Valkey, writer: BoardWriter, season: Season
) -> None:
    async with wire_to(own_valkey.address) as wire, watched(wire.url, season) as mirror:
        await mirror.reaches(writer)
        wire.deafen_subscriptions()
        for score in range(5):
            await writer.change({1: 1000 + score})
        await mirror.reaches(writer)
        await until(lambda: mirror.count("retries_total", part="board_events", reason="deaf") == 1)
        heard = mirror.count("mirror_events_total", board="s12", outcome="next")

        async def messages_are_heard_again() -> bool:
            await writer.change({2: writer.version})
            return mirror.count("mirror_events_total", board="s12", outcome="next") > heard + 10

        await until(messages_are_heard_again)
        await mirror.reaches(writer)
        assert mirror.count("mirror_holes_total", board="s12", filled="reload") == 0


async def test_a_subscription_that_is_never_confirmed_is_counted_and_made_again(
    own_valkey: Valkey, writer: BoardWriter, season: Season
) -> None:
    async with wire_to(own_valkey.address) as wire:
        wire.accepts = False
        async with mirrors_of(wire.url, season) as (mirrors, metrics):
            opening = asyncio.create_task(mirrors.open(season.board))
            counted = {"part": "board_events", "reason": "TimeoutError"}
            await until(lambda: metrics.registry.get_sample_value("rankcast_retries_total", counted))
            wire.accepts = True
            mirror = Watched(await opening, metrics)
            await mirror.reaches(writer)


async def test_messages_that_are_late_are_no_deaf_subscription(
    own_valkey: Valkey, writer: BoardWriter, season: Season
) -> None:
    async with wire_to(own_valkey.address) as wire, watched(wire.url, season) as mirror:
        await mirror.reaches(writer)
        wire.late_s = 0.5  # more than a message is given, less than the answer to a ping
        for score in range(5):
            await writer.change({1: 1000 + score})
            await mirror.reaches(writer)
        assert mirror.count("retries_total", part="board_events", reason="deaf") == 0


async def test_a_wire_that_loses_everything_without_closing_is_replaced_a7(
    own_valkey: Valkey, writer: BoardWriter, season: Season
) -> None:
    async with wire_to(own_valkey.address) as wire, watched(wire.url, season) as mirror:
        await mirror.reaches(writer)
        wire.deafen_all()
        for score in range(5):
            await writer.change({1: 1000 + score}, length=1)
        await until(lambda: stale_word(mirror) == "unreachable")
        wire.accepts = True
        await mirror.reaches(writer, within=20)
        await writer.change({1: 5})
        await mirror.reaches(writer)


async def test_a_board_that_cannot_be_read_in_time_is_not_ready_and_ready_later_d14(
    own_valkey: Valkey, writer: BoardWriter, season: Season
) -> None:
    async with mirrors_of(own_valkey.address, season, mirror_ready_s=0.3) as (mirrors, metrics):
        own_valkey.pause()
        try:
            with pytest.raises(RankcastError, match="s12 has not been read after") as refused:
                await mirrors.open("s12")
        finally:
            own_valkey.resume()
        assert refused.value.code == "not_ready"
        opened = mirrors.get("s12")
        assert opened is not None
        await Watched(opened, metrics).reaches(writer)
