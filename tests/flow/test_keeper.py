"""The keeper: boards that cannot go on are rebuilt without anybody's help, beside results that come."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from redis.asyncio import Redis

from server.archive.catalog import SeasonCatalog
from server.archive.store import Archive
from server.board.connection import connect
from server.board.keys import BoardKeys
from server.board.position import Applied
from server.board.store import BoardStore, Standing
from server.embedded.valkey import Valkey
from server.keeper.keeper import Keeper, why_rebuild
from server.keeper.rebuild import Rebuilder
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.archives import append, new_log
from tests.flow.boards import Maker, changes, make_season, open_board, order, ranked
from tests.flow.feeds import Flow, open_flow
from tests.waiting import until

SEASON = make_season("sum")
NOW_US = SEASON.starts_us + 86_400_000_000
AFTER_US = SEASON.ends_us + SEASON.grace_us


@contextlib.asynccontextmanager
async def kept(archive: Archive, boards: BoardStore, settings: Settings) -> AsyncIterator[Keeper]:
    """A running keeper; its end has to be an orderly one."""
    catalog = SeasonCatalog(archive, asyncio.get_running_loop().time)
    keeper, stop = Keeper(settings, Metrics(), archive, boards, catalog), asyncio.Event()
    running = asyncio.create_task(keeper.run(stop))
    try:
        yield keeper
    finally:
        stop.set()
        async with asyncio.timeout(20):
            await running


@pytest.fixture
def settings() -> Settings:
    return Settings(keeper_every_s=0.05)


# -- when a rebuild is due


@pytest.mark.parametrize(
    ("standing", "log_number", "now_us", "reason"),
    [
        (Standing(Applied(3), False), 3, NOW_US, None),
        (Standing(None, False), 3, NOW_US, "there is no board"),
        (Standing(Applied(3), False, resets=-1), 3, NOW_US, "it is from before reset 0 of the season"),
        (Standing(None, False), 3, AFTER_US, "there is no board"),
        (Standing(Applied(2), False), 3, NOW_US, "it is of log 2, PostgreSQL reads log 3"),
        (Standing(Applied(2), False), 3, AFTER_US - 1, "it is of log 2, PostgreSQL reads log 3"),
        (Standing(Applied(2), False), 3, AFTER_US, None),
        (Standing(Applied(2), False), None, NOW_US, None),
        (Standing(Applied(3), True), 3, AFTER_US, "it was reported lost"),
    ],
)
def test_a_rebuild_is_due_where_a_board_cannot_go_on(
    standing: Standing, log_number: int | None, now_us: int, reason: str | None
) -> None:
    assert why_rebuild(SEASON, standing, log_number, now_us) == reason


# -- by itself


async def test_a_new_season_gets_its_board_within_a_moment(
    archive: Archive, boards: BoardStore, settings: Settings
) -> None:
    log = await new_log(archive)
    async with kept(archive, boards, settings):
        await archive.create_season(SEASON)
        await until(lambda: boards.position(12))
        assert await boards.applied(12) == Applied(log, {0: 0})


async def test_a_redis_that_lost_everything_has_its_boards_back(
    archive: Archive, redis: Redis, boards: BoardStore, settings: Settings
) -> None:
    log, maker = await new_log(archive), Maker(SEASON)
    await archive.create_season(SEASON)
    await archive.create_season(replace(SEASON, season_id=13))
    await append(archive, log, maker.result(1, 5), maker.result(2, 7))
    async with kept(archive, boards, settings):
        await until(lambda: ranked(redis, SEASON))
        await redis.flushall()
        await until(lambda: boards.position(13))
        await until(lambda: boards.position(12))
    assert await ranked(redis, SEASON) == [2, 1]


async def test_a_new_log_gets_its_boards_when_persist_has_begun_to_read_it(
    archive: Archive, boards: BoardStore, settings: Settings
) -> None:
    await archive.create_season(SEASON)
    await open_board(boards, SEASON, log=await new_log(archive, "A"))
    async with kept(archive, boards, settings):
        log = await new_log(archive, "B")

        async def rebuilt() -> bool:
            return await boards.applied(12) == Applied(log, {0: 0})

        await until(rebuilt)


async def test_a_board_that_ingest_reports_is_rebuilt_and_the_report_is_taken_back(
    archive: Archive, redis: Redis, boards: BoardStore, settings: Settings
) -> None:
    await archive.create_season(SEASON)
    await open_board(boards, SEASON, log=await new_log(archive))
    await redis.delete(BoardKeys(12).lost)  # the board was made a while ago
    before = await boards.position(12)
    async with kept(archive, boards, settings):
        await boards.report_lost(12)

        async def done() -> bool:
            return await boards.position(12) != before

        await until(done)
    assert [standing.lost for standing in await boards.standings([12])] == [False]


async def test_a_report_that_comes_after_the_rebuild_it_asked_for_starts_no_second_one(
    archive: Archive, redis: Redis, boards: BoardStore, settings: Settings
) -> None:
    await archive.create_season(SEASON)
    await new_log(archive)
    async with kept(archive, boards, settings):
        await until(lambda: boards.position(12))
    await boards.report_lost(12)  # by an ingest that had looked before
    assert [standing.lost for standing in await boards.standings([12])] == [False]
    await redis.delete(BoardKeys(12).lost)  # which ends by itself after a moment
    await boards.report_lost(12)
    assert [standing.lost for standing in await boards.standings([12])] == [True]


async def test_two_keepers_do_not_rebuild_one_board_twice_at_once(
    archive: Archive, redis: Redis, boards: BoardStore, settings: Settings
) -> None:
    log, maker = await new_log(archive), Maker(SEASON)
    await archive.create_season(SEASON)
    await append(archive, log, *[maker.result(player, 5) for player in range(50)])
    small = Settings(keeper_every_s=0.05, rebuild_chunk=1)
    async with kept(archive, boards, small), kept(archive, boards, small):
        await until(lambda: boards.position(12))
    assert len(await changes(redis, SEASON)) == 1
    assert len(await ranked(redis, SEASON)) == 50


async def test_what_keeps_a_board_waiting_is_said_and_over_when_it_is_over(
    archive: Archive, boards: BoardStore, settings: Settings
) -> None:
    await archive.create_season(SEASON)
    async with kept(archive, boards, settings) as keeper:
        await until(lambda: keeper.problem)
        assert keeper.problem == "s12: PostgreSQL has not read any log yet; let persist run"
        await new_log(archive)
        await until(lambda: boards.position(12))
        await until(lambda: keeper.problem is None)


async def test_a_redis_that_is_away_for_a_while_does_not_end_the_keeper(
    archive: Archive, own_valkey: Valkey, settings: Settings
) -> None:
    await new_log(archive)
    await archive.create_season(SEASON)
    async with connect(own_valkey.address) as redis:
        boards = BoardStore(redis, settings, Metrics())
        own_valkey.kill()
        async with kept(archive, boards, settings) as keeper:
            await until(lambda: keeper.problem)
            await own_valkey.start()
            await until(lambda: boards.position(12))
            await until(lambda: keeper.problem is None)


async def test_a_rebuild_under_way_at_the_stop_leaves_nothing_behind(
    archive: Archive, redis: Redis, boards: BoardStore, settings: Settings
) -> None:
    log, maker = await new_log(archive), Maker(SEASON)
    await archive.create_season(SEASON)
    await append(archive, log, *[maker.result(player, 5) for player in range(3000)])
    async with kept(archive, boards, Settings(keeper_every_s=0.05, rebuild_chunk=1)):
        await until(lambda: redis.exists(BoardKeys(12).rebuilds))
    assert await redis.keys("*") == []


# -- beside results that keep coming


@pytest.fixture
async def flow(kafka_bootstrap: str, topic: str, redis_url: str, database_url: str) -> AsyncIterator[Flow]:
    settings = Settings(
        kafka_bootstrap=kafka_bootstrap,
        topic=topic,
        redis_url=redis_url,
        database_url=database_url,
        consumer_groups=False,
        rebuild_chunk=50,
    )
    async with open_flow(settings) as flow:
        flow.rebuild = False
        yield flow


def rebuilder_of(flow: Flow) -> Rebuilder:
    return Rebuilder(flow.settings, flow.metrics, flow.archive, flow.boards, flow.catalog)


async def test_a_rebuild_brings_what_the_live_board_had_and_postgresql_had_not_f13(flow: Flow) -> None:
    season = await flow.season(SEASON)
    persist, _ = flow.persist(), flow.ingest()
    await until(flow.archive.current_log)
    await rebuilder_of(flow).rebuild(12)
    await flow.send([flow.record(season, player, 5) for player in range(100)])
    await flow.on_board(season, dict.fromkeys(range(100), 5))
    await flow.stored(season, 100)
    await flow.stop(persist)
    records = [flow.record(season, player, 7) for player in range(50, 150)]
    await flow.send([*records, *records])
    wanted = {player: 5 if player < 50 else 12 if player < 100 else 7 for player in range(150)}
    await flow.on_board(season, wanted)
    await rebuilder_of(flow).rebuild(12)
    await flow.on_board(season, wanted)
    flow.persist()
    await flow.stored(season, 200)
    await rebuilder_of(flow).rebuild(12)
    assert await flow.points(season) == wanted


async def test_rebuilds_while_results_keep_coming_lose_none_and_count_none_twice_f13(flow: Flow) -> None:
    season = await flow.season(SEASON)
    flow.persist()
    flow.ingest()
    await until(flow.archive.current_log)
    await rebuilder_of(flow).rebuild(12)
    sent, stop = 0, asyncio.Event()

    async def feed() -> None:
        nonlocal sent
        while not stop.is_set():
            await flow.send([flow.record(season, player, 1) for player in range(100)])
            sent += 1

    feeding = asyncio.create_task(feed())
    sizes = []

    async def look() -> None:
        while not stop.is_set():
            sizes.append(await flow.redis.zcard(BoardKeys(12).zset))

    async def all_are_there() -> bool:
        return await flow.redis.zcard(BoardKeys(12).zset) == 100

    await until(all_are_there)
    looking = asyncio.create_task(look())
    for _ in range(3):
        await rebuilder_of(flow).rebuild(12)
    stop.set()
    await asyncio.gather(feeding, looking)
    await flow.on_board(season, dict.fromkeys(range(100), sent))
    await flow.stored(season, 100 * sent)
    assert await flow.totals(season) == await flow.points(season)
    assert set(sizes) == {100}
    assert await order(flow.redis, season)
