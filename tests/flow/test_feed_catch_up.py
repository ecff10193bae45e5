"""A board in the making gets from the log what PostgreSQL's rows did not have yet, once each."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from server.board.batch import SubmitBatch, SubmitReply
from server.board.keys import BoardKeys
from server.board.position import Applied, new_epoch
from server.board.store import BoardStore
from server.core.season import Season
from server.embedded.valkey import Valkey
from server.feed.catch_up import BoardLost, CatchUp
from server.feed.reader import LogChanged
from server.settings import Settings
from tests.flow.boards import make_season
from tests.flow.feeds import Flow, open_flow
from tests.waiting import until


@pytest.fixture
def embedded_settings(kafka_bootstrap: str, topic: str, redis_url: str, database_url: str) -> Settings:
    return Settings(
        kafka_bootstrap=kafka_bootstrap,
        topic=topic,
        redis_url=redis_url,
        database_url=database_url,
        consumer_groups=False,
    )


@pytest.fixture
async def flow(embedded_settings: Settings) -> AsyncIterator[Flow]:
    async with open_flow(embedded_settings) as flow:
        yield flow


async def in_the_making(flow: Flow, season: Season, offsets: dict[int, int] | None = None) -> BoardKeys:
    """A board without players that stands where a rebuild left it."""
    keys = BoardKeys(season.season_id, new_epoch())
    await flow.boards.rebuilds.begin(keys, season)
    await flow.boards.rebuilds.finish(keys, 0, Applied(await flow.log_number(), offsets or {}))
    return keys


@asynccontextmanager
async def catching_up(flow: Flow, season: Season, keys: BoardKeys) -> AsyncIterator[CatchUp]:
    async with CatchUp(
        flow.settings,
        flow.metrics,
        flow.archive,
        flow.catalog,
        flow.boards,
        season=season,
        keys=keys,
        log_number=await flow.log_number(),
    ) as catch_up:
        yield catch_up


async def test_it_reads_to_its_targets_and_the_board_can_take_the_live_ones_place(flow: Flow) -> None:
    season = await flow.season(make_season("sum"))
    persist = flow.persist()
    await flow.send([flow.record(season, number, 1) for number in range(400)])
    assert await persist.drained() == 0
    ends = await flow.archive.next_offsets(await flow.log_number())
    keys = await in_the_making(flow, season)
    async with catching_up(flow, season, keys) as catch_up:
        reached = await catch_up.reach(ends)
        assert all(reached[number] >= end for number, end in ends.items())
        assert await catch_up.reach(ends) == reached
    assert await flow.boards.rebuilds.swap(keys)
    assert await flow.points(season) == dict.fromkeys(range(400), 1)


async def test_results_that_postgresql_had_elsewhere_are_not_counted_again(flow: Flow) -> None:
    season = await flow.season(make_season("sum"))
    persist = flow.persist()
    first = flow.record(season, 7, 1)
    await flow.send([first])
    assert await persist.drained() == 0
    stood = await flow.archive.next_offsets(await flow.log_number())
    await flow.send([first, flow.record(season, 7, 10)])
    assert await persist.drained() == 0
    keys = await in_the_making(flow, season, stood)
    async with catching_up(flow, season, keys) as catch_up:
        await catch_up.reach(await flow.archive.next_offsets(await flow.log_number()))
    assert await flow.boards.rebuilds.swap(keys)
    assert await flow.points(season) == {7: 10}


async def test_another_log_than_the_boards_is_not_read(flow: Flow) -> None:
    season = await flow.season()
    keys = await in_the_making(flow, season)
    with pytest.raises(LogChanged):
        async with CatchUp(
            flow.settings,
            flow.metrics,
            flow.archive,
            flow.catalog,
            flow.boards,
            season=season,
            keys=keys,
            log_number=await flow.log_number() + 1,
        ):
            raise AssertionError("it was opened")


async def test_a_board_that_vanished_has_to_start_over(flow: Flow) -> None:
    season = await flow.season()
    flow.persist()
    keys = await in_the_making(flow, season)
    await flow.send([flow.record(season, number, 1) for number in range(50)])
    async with catching_up(flow, season, keys) as catch_up:
        await flow.boards.rebuilds.drop(keys)
        with pytest.raises(BoardLost):
            await catch_up.reach({0: 1})
    with pytest.raises(BoardLost):
        async with catching_up(flow, season, keys):
            raise AssertionError("it was opened")


async def test_a_redis_that_is_away_is_waited_for(embedded_settings: Settings, own_valkey: Valkey) -> None:
    settings = embedded_settings.model_copy(update={"redis_url": own_valkey.address})
    async with open_flow(settings) as flow:
        season = await flow.season(make_season("sum"))
        persist = flow.persist()
        await flow.send([flow.record(season, number, 1) for number in range(100)])
        assert await persist.drained() == 0
        ends = await flow.archive.next_offsets(await flow.log_number())
        keys = await in_the_making(flow, season)
        async with catching_up(flow, season, keys) as catch_up:
            own_valkey.kill()
            waiting = asyncio.create_task(catch_up.reach(ends))
            await until(lambda: flow.metric("retries_total", part="rebuild", reason="redis") > 0)
            await own_valkey.start()
            await waiting
        assert await flow.boards.rebuilds.swap(keys)
        assert await flow.points(season) == dict.fromkeys(range(100), 1)


async def test_its_calls_are_small_so_that_the_live_board_does_not_wait_for_them(
    flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    season = await flow.season(make_season("sum"))
    persist = flow.persist()
    await flow.send([flow.record(season, 1, 1) for _ in range(700)])
    assert await persist.drained() == 0
    submit, sizes = BoardStore.submit_many, list[int]()

    async def noted(self: BoardStore, batches: Sequence[SubmitBatch]) -> list[SubmitReply]:
        sizes.extend(len(batch.results) for batch in batches)
        return await submit(self, batches)

    monkeypatch.setattr(BoardStore, "submit_many", noted)
    keys = await in_the_making(flow, season)
    async with catching_up(flow, season, keys) as catch_up:
        await catch_up.reach(await flow.archive.next_offsets(await flow.log_number()))
    assert max(sizes) == 200
