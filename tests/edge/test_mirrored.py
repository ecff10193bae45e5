"""The edge on real mirrors of a real Redis: what viewers see when board, channel or process break."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace

from redis.asyncio import Redis

from server.board.connection import connect
from server.core.rows import Row
from server.core.season import Season
from server.live.hub import Hub
from server.metrics import Metrics
from server.settings import Settings
from tests.edge.clients import client
from tests.edge.stage import BOARD, NameStore, port_of, season, serving
from tests.flow.board_writer import BoardWriter
from tests.flow.mirroring import mirrors_of
from tests.waiting import until

TEN = {player: 100 * player for player in range(1, 11)}


@dataclass
class Process:
    """A web process."""

    hub: Hub
    port: int


@contextlib.asynccontextmanager
async def process(url: str, **options: object) -> AsyncIterator[Process]:
    """A hub and its mirrors, as one process has them."""
    chosen = Settings.model_validate({"tick_ms": 20, "around_tick_ms": 50} | options)
    async with (
        mirrors_of(url, season()) as (mirrors, _),
        serving(mirrors, NameStore(), url, chosen, Metrics()) as (hub, _, server),
    ):
        yield Process(hub, port_of(server))


def scores(points: Mapping[int, int], of: Season) -> dict[int, int]:
    return {player: of.codec.encode(value, player * 1_000_000) for player, value in points.items()}


def expected(writer: BoardWriter, of: Season, count: int) -> list[Row]:
    """The best rows by the writer's own memory."""
    order = sorted(writer.board.items(), key=lambda item: (item[1], str(item[0]).encode()), reverse=True)
    return [Row(player, *of.codec.decode(score)) for player, score in order[:count]]


@contextlib.asynccontextmanager
async def board(url: str, points: Mapping[int, int]) -> AsyncIterator[BoardWriter]:
    """The board s12 in Redis."""
    async with connect(url) as redis:
        writer = BoardWriter(redis, season())
        await writer.replace(scores(points, season()))
        yield writer


async def test_a_viewer_follows_the_board_in_redis(redis_url: str) -> None:
    async with (
        board(redis_url, TEN) as writer,
        process(redis_url) as web,
        client(web.port) as viewer,
    ):
        top, around = await viewer.top(5), await viewer.around(3, radius=1)
        for step in range(50):
            await writer.change(scores({1 + step % 10: 2000 + step}, season()))
        await until(lambda: top.version == around.version == writer.version)
        assert top.rows == expected(writer, season(), 5)
        assert 3 in {row.player for row in around.rows}
        assert top.whole == 1


async def test_lost_messages_cost_a_moment_and_no_snapshot(redis_url: str) -> None:
    """A7: the rows come from the change log; the viewer is led on by diffs."""
    async with (
        board(redis_url, TEN) as writer,
        process(redis_url) as web,
        client(web.port) as viewer,
    ):
        shown = await viewer.top(5)
        for step in range(20):
            await writer.change(scores({1 + step % 10: 2000 + step}, season()), lost=step % 2 == 0)
        await until(lambda: shown.version == writer.version)
        assert shown.rows == expected(writer, season(), 5)
        assert shown.whole == 1


async def test_a_killed_subscription_costs_a_moment_and_no_snapshot(redis_url: str) -> None:
    """A7"""
    async with (
        board(redis_url, TEN) as writer,
        process(redis_url) as web,
        client(web.port) as viewer,
    ):
        shown = await viewer.top(5)
        async with Redis.from_url(redis_url) as redis:
            await redis.client_kill_filter(_type="pubsub")
        for step in range(10):
            await writer.change(scores({1 + step % 10: 2000 + step}, season()))
        await until(lambda: shown.version == writer.version)
        assert shown.rows == expected(writer, season(), 5)


async def test_a_board_that_is_replaced_in_redis_begins_anew(redis_url: str) -> None:
    """F13: the old rows or the new ones, nothing between."""
    async with (
        board(redis_url, TEN) as writer,
        process(redis_url) as web,
        client(web.port) as viewer,
    ):
        shown = await viewer.top(5)
        await writer.replace(scores({77: 1, 78: 2}, season()))
        await until(lambda: shown.epoch == writer.epoch)
        assert shown.rows == expected(writer, season(), 5)
        assert shown.notices == ["replaced"]
        assert [len(frame["rows"]) for frame in viewer.of("snapshot")] == [5, 2]


async def test_a_board_that_is_not_there_yet_is_shown_once_it_is(redis_url: str) -> None:
    """D14"""
    async with connect(redis_url) as redis, process(redis_url) as web, client(web.port) as viewer:
        shown = await viewer.top(5)
        assert (shown.epoch, shown.rows) == (None, [])
        await until(lambda: viewer.screen.stale == {BOARD: "building"})
        writer = BoardWriter(redis, season())
        await writer.replace(scores(TEN, season()))
        await until(lambda: shown.epoch == writer.epoch and not viewer.screen.stale)
        assert shown.rows == expected(writer, season(), 5)


async def test_viewers_of_several_processes_see_the_same_and_may_change_between_them(redis_url: str) -> None:
    """D10, G6"""
    async with (
        board(redis_url, TEN) as writer,
        process(redis_url) as one,
        process(redis_url) as other,
        client(one.port) as here,
        client(other.port) as there,
    ):
        shown, also = await here.top(5), await there.top(5)
        for step in range(30):
            await writer.change(scores({1 + step % 10: 2000 + step}, season()))
        await until(lambda: shown.version == also.version == writer.version)
        assert shown.rows == also.rows == expected(writer, season(), 5)
        async with client(other.port) as moved:
            moved.screen.topics["s12/top/5"] = replace(shown, rows=list(shown.rows))
            await moved.top(5, have=shown.have)
            version = writer.version + 1
            await writer.change(scores({10: 900_000}, season()))
            await until(lambda: moved.screen["s12/top/5"].version == version)
            assert moved.screen["s12/top/5"].rows == expected(writer, season(), 5)
