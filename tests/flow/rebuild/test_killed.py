"""A rebuild that is killed at any step: the board stays whole, and nothing is in the next one's way."""

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest
from aiokafka.errors import KafkaError
from redis.asyncio import Redis

from server.archive.catalog import SeasonCatalog
from server.archive.store import Archive
from server.board.connection import connect
from server.board.keys import BoardKeys
from server.board.rebuilds import RebuildRefused
from server.board.store import BoardStore
from server.core.season import Season
from server.feed.catch_up import CatchUp
from server.keeper.progress import Progress
from server.keeper.rebuild import Rebuilder
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.boards import make_season, order, ranked
from tests.flow.both_sides import both_sides
from tests.flow.feeds import Flow, open_flow
from tests.waiting import until

LOCK_S = 0.2


class Killed(BaseException):
    """The process is gone: nothing that it would have done after this is done."""


class Mortal:
    """A client of Redis whose process is killed after so many round trips, or when `kill` is called."""

    def __init__(self, url: str, trips: int) -> None:
        self.redis: Redis = connect(url)
        self.trips_left = trips
        pool = self.redis.connection_pool
        self._connection = pool.get_connection
        pool.get_connection = self._trip  # type: ignore[method-assign]  # every command and pipeline takes one

    async def _trip(self, *args: object, **kwargs: object) -> object:
        if self.trips_left == 0:
            raise Killed
        self.trips_left -= 1
        return await self._connection(*args, **kwargs)  # type: ignore[no-untyped-call]  # as they came

    def kill(self) -> None:
        self.trips_left = 0


def rebuilder(archive: Archive, redis: Redis, settings: Settings) -> Rebuilder:
    catalog = SeasonCatalog(archive, asyncio.get_running_loop().time)
    return Rebuilder(settings, Metrics(), archive, BoardStore(redis, settings, Metrics()), catalog)


async def rebuild_again(archive: Archive, redis: Redis, settings: Settings) -> None:
    """The next rebuild, once the lock of the one that was killed has ended."""

    async def done() -> bool:
        try:
            await rebuilder(archive, redis, settings).rebuild(12)
        except RebuildRefused:
            return False
        return True

    await until(done, within=10, every=0.05)


async def left_over(redis: Redis) -> list[object]:
    return [key for key in await redis.keys("*") if "rebuild" in str(key)]


async def test_wherever_a_rebuild_is_killed_the_board_is_whole_and_the_next_one_works_f13(
    archive: Archive, redis: Redis, boards: BoardStore, redis_url: str
) -> None:
    sides = await both_sides(archive, boards, redis)
    await sides.both(*[sides.maker.result(player, player % 3) for player in range(10)])
    wanted = await order(redis, sides.season)
    settings = Settings(rebuild_chunk=3, rebuild_lock_s=LOCK_S)
    killed = 0
    while True:
        mortal = Mortal(redis_url, killed)
        try:
            await rebuilder(archive, mortal.redis, settings).rebuild(12)
        except Killed:
            killed += 1
        else:
            break
        finally:
            await mortal.redis.aclose()
        assert await order(redis, sides.season) == wanted, f"killed after {killed} round trips"
        await rebuild_again(archive, redis, settings)
        assert await order(redis, sides.season) == wanted, f"killed after {killed} round trips"
        assert await left_over(redis) == [], f"killed after {killed} round trips"
    assert killed > 8  # lock, begin, four chunks, finish, swap …


@pytest.fixture
async def flow(kafka_bootstrap: str, topic: str, redis_url: str, database_url: str) -> AsyncIterator[Flow]:
    settings = Settings(
        kafka_bootstrap=kafka_bootstrap,
        topic=topic,
        redis_url=redis_url,
        database_url=database_url,
        consumer_groups=False,
        rebuild_lock_s=LOCK_S,
    )
    async with open_flow(settings) as flow:
        flow.rebuild = False
        yield flow


async def ahead(flow: Flow) -> Season:
    """A board that has read further than PostgreSQL, which stands still: a rebuild has to catch up."""
    season = await flow.season(make_season("sum"))
    persist, _ = flow.persist(), flow.ingest()
    await until(flow.archive.current_log)
    await rebuilder(flow.archive, flow.redis, flow.settings).rebuild(12)
    await flow.send([flow.record(season, player, 5) for player in range(20)])
    await flow.stored(season, 20)
    await flow.stop(persist)
    await flow.send([flow.record(season, player, 2) for player in range(10, 30)])
    await flow.on_board(season, {p: 5 if p < 10 else 7 if p < 20 else 2 for p in range(30)})
    return season


async def test_a_rebuild_that_is_killed_while_it_catches_up_is_made_again_f13(flow: Flow) -> None:
    season = await ahead(flow)
    wanted = await order(flow.redis, season)
    mortal = Mortal(flow.settings.redis_url or "", 10_000)

    def kill(progress: Progress) -> None:
        if progress.step == "catch_up":
            mortal.kill()

    with pytest.raises(Killed):
        await rebuilder(flow.archive, mortal.redis, flow.settings).rebuild(12, kill)
    await mortal.redis.aclose()
    assert await order(flow.redis, season) == wanted
    assert len(await flow.redis.smembers(BoardKeys(12).rebuilds)) == 1
    await rebuild_again(flow.archive, flow.redis, flow.settings)
    assert await left_over(flow.redis) == []
    assert await order(flow.redis, season) == wanted
    assert len(await ranked(flow.redis, season)) == 30


async def test_a_kafka_that_fails_while_it_catches_up_costs_nothing_that_was_loaded(
    flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    season = await ahead(flow)
    reach, failures = CatchUp.reach, 2

    async def failing(self: CatchUp, targets: Mapping[int, int]) -> dict[int, int]:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise KafkaError("the broker is slow")
        return await reach(self, targets)

    monkeypatch.setattr(CatchUp, "reach", failing)
    wanted, told = await order(flow.redis, season), list[Progress]()
    await rebuilder(flow.archive, flow.redis, flow.settings).rebuild(12, told.append)
    assert await order(flow.redis, season) == wanted
    assert [progress.step for progress in told] == ["load", "catch_up", "catch_up", "catch_up", "done"]
