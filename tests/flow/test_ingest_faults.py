"""Ingest when Redis, PostgreSQL or Kafka are away, go back or forget: nothing skipped, nothing twice."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from redis.asyncio import Redis

from server.board.keys import BoardKeys
from server.core.season import Season
from server.embedded.postgres import Postgres
from server.embedded.tansu import Tansu
from server.embedded.valkey import Valkey
from server.settings import Settings
from tests.flow.boards import make_season, settle
from tests.flow.feeds import Flow, open_flow
from tests.waiting import until

Make = Callable[..., Settings]


@pytest.fixture
def make_settings(kafka_bootstrap: str, topic: str, redis_url: str, database_url: str) -> Make:
    """Settings on the run's services, changed as a test wants."""

    def make(**changes: object) -> Settings:
        named: dict[str, object] = {
            "kafka_bootstrap": kafka_bootstrap,
            "topic": topic,
            "redis_url": redis_url,
            "database_url": database_url,
            "consumer_groups": False,
        }
        return Settings(**(named | changes))  # type: ignore[arg-type]  # pydantic checks them

    return make


@pytest.fixture
async def flow(make_settings: Make) -> AsyncIterator[Flow]:
    async with open_flow(make_settings()) as flow:
        yield flow


async def numbered(flow: Flow, season: Season, count: int, *, players: int = 40) -> None:
    """One point each for `count` matches: a `sum` board tells each result lost or counted twice."""
    await flow.send([flow.record(season, number % players, 1) for number in range(count)])


async def has_all(flow: Flow, season: Season, count: int, *, players: int = 40, within: float = 20) -> None:
    wanted = {player: len(range(player, count, players)) for player in range(min(players, count))}
    await flow.on_board(season, wanted, within=within)


async def copy(redis: Redis, season: Season) -> dict[str, bytes]:
    """A board's keys as they are now."""
    keys = BoardKeys(season.season_id).board
    return {key: dumped for key in keys if (dumped := await redis.dump(key)) is not None}


async def restore(redis: Redis, copied: dict[str, bytes]) -> None:
    """Put a board's keys back, as a failover to a replica that was behind would."""
    for key, dumped in copied.items():
        await redis.restore(key, 0, dumped, replace=True)


# -- Redis


async def test_a_board_that_went_back_is_replayed_and_its_neighbours_are_not_touched(flow: Flow) -> None:
    one = await flow.season(make_season("sum", season_id=1))
    two = await flow.season(make_season("sum", season_id=2))
    flow.persist()
    await flow.opened(flow.ingest(), one, two)
    for season in (one, two):
        await numbered(flow, season, 100)
    await has_all(flow, one, 100)
    await has_all(flow, two, 100)
    earlier = await copy(flow.redis, one)
    for season in (one, two):
        await numbered(flow, season, 100)
    await until(lambda: _points(flow, one, 200))
    await until(lambda: _points(flow, two, 200))
    version = await flow.boards.position(2)
    assert _went_back(flow) == 0
    await restore(flow.redis, earlier)
    await until(lambda: _points(flow, one, 200))
    assert _went_back(flow) > 0
    assert await flow.points(two) == await flow.totals(two)
    assert await flow.boards.position(2) == version


def _went_back(flow: Flow) -> float:
    return flow.metrics.registry.get_sample_value("rankcast_boards_went_back_total") or 0


async def _points(flow: Flow, season: Season, points: int) -> bool:
    return sum((await flow.points(season)).values()) == points


async def test_a_lost_board_is_reported_and_goes_on_after_its_rebuild(
    flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.feed.board_watch.LOST_SECONDS", 0.1)
    lost, kept = (
        await flow.season(make_season("sum", season_id=1)),
        await flow.season(make_season(season_id=2)),
    )
    flow.persist()
    ingest = flow.ingest()
    await flow.opened(ingest, lost, kept)
    await numbered(flow, lost, 100)
    await has_all(flow, lost, 100)
    await flow.stored(lost, 100)
    flow.rebuild = False
    flow.lost.clear()
    await flow.redis.delete(*BoardKeys(1).board)
    await until(lambda: 1 in flow.lost)
    assert ingest.open_boards == {2}
    await until(lambda: ingest.problem == "boards that take nothing until a keeper has rebuilt them: s1")
    await numbered(flow, lost, 50)
    await flow.send([flow.record(kept, 7, 70)])
    await flow.on_board(kept, {7: 70})
    flow.rebuild = True
    await flow.opened(ingest, lost)
    await until(lambda: _points(flow, lost, 150))
    await until(lambda: ingest.problem is None)
    assert 2 not in flow.lost


async def test_scripts_that_redis_forgot_are_sent_again_in_the_middle_of_the_flow_a6(flow: Flow) -> None:
    season = await flow.season(make_season("sum"))
    flow.persist()
    await flow.opened(flow.ingest(), season)
    for _ in range(10):
        sending = asyncio.create_task(numbered(flow, season, 100))
        await flow.redis.script_flush()
        await sending
    await until(lambda: _points(flow, season, 1000))


async def test_while_redis_is_down_nothing_is_skipped_and_it_shows(
    make_settings: Make, own_valkey: Valkey
) -> None:
    async with open_flow(make_settings(redis_url=own_valkey.address)) as flow:
        season = await flow.season(make_season("sum"))
        flow.persist()
        ingest = flow.ingest()
        await flow.opened(ingest, season)
        await numbered(flow, season, 200)
        await has_all(flow, season, 200)
        await own_valkey.stop()
        await numbered(flow, season, 300)
        await flow.stored(season, 500)
        await until(lambda: "Redis" in (ingest.problem or ""))
        await until(lambda: _lag(flow) > 0)
        await own_valkey.start()
        await until(lambda: _points(flow, season, 500))
        await until(lambda: ingest.problem is None)
        await until(lambda: _lag(flow) == 0)


def _lag(flow: Flow) -> float:
    return sum(flow.metric("lag_records", role="ingest", partition=str(partition)) for partition in range(4))


async def test_a_stop_waits_for_no_redis_and_says_how_much_is_left(
    make_settings: Make, own_valkey: Valkey
) -> None:
    async with open_flow(make_settings(redis_url=own_valkey.address)) as flow:
        season = await flow.season(make_season("sum"))
        flow.persist()
        ingest = flow.ingest()
        await flow.opened(ingest, season)
        await own_valkey.stop()
        await numbered(flow, season, 300)
        await until(lambda: "Redis" in (ingest.problem or ""))
        assert 0 < await ingest.drained(2.0) <= 300
        async with asyncio.timeout(20):
            await flow.stop(ingest)
        await own_valkey.start()
        flow.ingest()
        await until(lambda: _points(flow, season, 300))


async def test_a_redis_that_comes_back_empty_is_rebuilt_from_postgresql_f12(
    make_settings: Make, own_valkey: Valkey
) -> None:
    async with open_flow(make_settings(redis_url=own_valkey.address)) as flow:
        season = await flow.season(make_season("sum"))
        flow.persist()
        await flow.opened(flow.ingest(), season)
        await numbered(flow, season, 200)
        await has_all(flow, season, 200)
        await flow.stored(season, 200)
        await flow.redis.flushall()
        await numbered(flow, season, 300)
        await until(lambda: _points(flow, season, 500))
        assert await flow.points(season) == await flow.totals(season)


async def test_a_restart_before_the_offsets_were_committed_counts_nothing_twice_a13(flow: Flow) -> None:
    season = await flow.season(make_season("sum"))
    flow.persist()
    ingest = flow.ingest()
    await flow.opened(ingest, season)
    await numbered(flow, season, 100)
    await has_all(flow, season, 100)
    version = await flow.boards.position(season.season_id)
    await flow.kill(ingest)
    await flow.opened(flow.ingest(), season)
    await flow.send([flow.record(season, 777, 1)])
    await until(lambda: _points(flow, season, 101))
    after = await flow.boards.position(season.season_id)
    assert version is not None
    assert after == (version[0], version[1] + 1)


# -- PostgreSQL


async def test_while_postgresql_is_frozen_an_ordinary_board_moves_on_and_one_that_must_ask_waits(
    make_settings: Make, own_postgres: Postgres
) -> None:
    settings = make_settings(database_url=own_postgres.database("postgres"))
    async with open_flow(settings) as flow:
        ordinary = await flow.season(make_season("sum", season_id=1))
        asking = await flow.season(make_season("sum", season_id=2))
        flow.persist()
        ingest = flow.ingest()
        await flow.opened(ingest, ordinary, asking)
        await settle(flow.redis, ordinary)
        await settle(flow.redis, asking)
        own_postgres.pause()
        try:
            old = flow.record(asking, 7, 5, ago_s=20 * 3600)
            await flow.send([old])
            for round_ in range(1, 6):
                await numbered(flow, ordinary, 40)
                await until(lambda wanted=40 * round_: _points(flow, ordinary, wanted), within=20)  # type: ignore[misc]  # a default binds it
            assert await flow.points(asking) == {}
            await until(lambda: "PostgreSQL" in (ingest.problem or ""), within=20)
            assert _went_back(flow) == 0  # calls behind one that waits are told to seek, too
        finally:
            own_postgres.resume()
        await flow.on_board(asking, {7: 5}, within=30)
        await until(lambda: ingest.problem is None)


# -- Kafka


async def test_a_restarted_embedded_broker_is_a_new_log_that_both_follow(
    make_settings: Make, own_kafka: Tansu
) -> None:
    settings = make_settings(kafka_bootstrap=own_kafka.address, topic="results", topic_partitions=4)
    async with open_flow(settings) as flow:
        season = await flow.season(make_season("sum"))
        flow.persist()
        ingest = flow.ingest()
        await flow.opened(ingest, season)
        await numbered(flow, season, 200)
        await has_all(flow, season, 200)
        await flow.stored(season, 200)
        first = await flow.log_number()
        await own_kafka.stop()
        await until(lambda: "broker" in (ingest.problem or ""))
        await own_kafka.start()
        await until(lambda: ingest.problem is None, within=30)
        await flow.opened(ingest, season)
        assert await flow.log_number() != first
        await numbered(flow, season, 300)
        await until(lambda: _points(flow, season, 500), within=30)
        await flow.stored(season, 500)
        assert await flow.points(season) == await flow.totals(season)
