"""Boards are opened by name, each once, however many ask at the same time."""

import asyncio

import pytest
from redis.asyncio import Redis

from server.errors import RankcastError
from server.live.mirrors import Mirrors, UnknownBoardError
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.board_writer import BoardWriter
from tests.flow.boards import make_season
from tests.flow.mirroring import Seasons, Watched, mirrors_of


async def test_a_board_is_opened_once_for_all_who_ask(redis: Redis, redis_url: str) -> None:
    season = make_season()
    await BoardWriter(redis, season).replace({1: 1})
    async with mirrors_of(redis_url, season) as (mirrors, _):
        opened = await asyncio.gather(*(mirrors.open("s12") for _ in range(10)))
        assert mirrors.all() == [opened[0]]
        assert set(opened) == {mirrors.get("s12")}


@pytest.mark.parametrize("board", ["s13", "s012", "12", "", "s12:d:2026-10-12", "s99999999999"])
async def test_a_board_of_no_season_is_unknown(redis_url: str, board: str) -> None:
    async with mirrors_of(redis_url, make_season()) as (mirrors, _):
        with pytest.raises(UnknownBoardError) as refused:
            await mirrors.open(board)
        assert refused.value.code == "unknown_board"
        assert mirrors.get(board) is None


async def test_no_board_is_opened_before_the_start_or_after_a_stop(redis: Redis) -> None:
    mirrors = Mirrors(Settings(mirror_ready_s=0.05), Metrics(), redis, Seasons([make_season()]))
    with pytest.raises(RankcastError, match="before the start or after a stop"):
        await mirrors.open("s12")
    stop = asyncio.Event()
    stop.set()
    await mirrors.run(stop)
    with pytest.raises(RankcastError, match="before the start or after a stop"):
        await mirrors.open("s12")


async def test_boards_share_one_subscription_and_do_not_mix(redis: Redis, redis_url: str) -> None:
    seasons = [make_season(season_id=season_id) for season_id in (1, 2, 12)]
    writers = [BoardWriter(redis, season) for season in seasons]
    async with mirrors_of(redis_url, *seasons) as (mirrors, metrics):
        opened = [Watched(await mirrors.open(season.board), metrics) for season in seasons]
        for score, writer in enumerate(writers):
            await writer.replace({1: score})
            await writer.change({2: score + 10})
        for mirror, writer in zip(opened, writers, strict=True):
            await mirror.reaches(writer)
        assert len(await redis.client_list(_type="pubsub")) == 1


async def test_what_a_mirror_shows_is_in_the_metrics(redis: Redis, redis_url: str) -> None:
    season = make_season()
    writer = BoardWriter(redis, season)
    await writer.replace({1: 1, 2: 2})
    async with mirrors_of(redis_url, season) as (mirrors, metrics):
        mirror = Watched(await mirrors.open("s12"), metrics)
        await writer.change({3: 3})
        await mirror.reaches(writer)
        assert mirror.count("mirror_players", board="s12") == 3
        assert mirror.count("mirror_version", board="s12") == 2
        assert mirror.count("mirror_stale", board="s12") == 0
        assert mirror.count("mirror_events_total", board="s12", outcome="next") == 1
