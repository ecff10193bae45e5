"""Reconcile and audit by the clock: what differs is mended and told of, and no fault of a service ends it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from server.archive.store import Archive
from server.board.connection import connect
from server.board.store import BoardStore
from server.embedded.valkey import Valkey
from server.keeper.rounds import Rounds
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.boards import make_season, order
from tests.flow.both_sides import KEYS, BothSides, both_sides
from tests.waiting import until


@contextlib.asynccontextmanager
async def by_the_clock(rounds: Rounds) -> AsyncIterator[None]:
    """The rounds run; their end has to be an orderly one."""
    stop = asyncio.Event()
    running = asyncio.create_task(rounds.run(stop))
    try:
        yield
    finally:
        stop.set()
        async with asyncio.timeout(30):
            await running


@pytest.fixture
async def sides(archive: Archive, boards: BoardStore, redis: Redis) -> BothSides:
    sides = await both_sides(archive, boards, redis)
    await sides.both(*[sides.maker.result(player, player % 5) for player in range(30)])
    return sides


def rounds_of(sides: BothSides, metrics: Metrics, **settings: object) -> Rounds:
    chosen = Settings.model_validate({"reconcile_every_s": 0, "audit_every_s": 0} | settings)
    return Rounds(chosen, metrics, sides.archive, sides.boards, sides.redis)


def told(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"rankcast_{name}", labels)


async def test_what_differs_is_mended_by_itself_f12(sides: BothSides, metrics: Metrics) -> None:
    before = await order(sides.redis, sides.season)
    await sides.redis.zadd(KEYS.zset, {"3": 5, "4711": 6})
    async with by_the_clock(rounds_of(sides, metrics, reconcile_every_s=0.05)):
        await until(lambda: told(metrics, "reconciles_total", outcome="repaired"))
        await until(lambda: told(metrics, "reconciles_total", outcome="equal"))
    assert await order(sides.redis, sides.season) == before


async def test_where_repairs_are_off_differences_are_only_told(sides: BothSides, metrics: Metrics) -> None:
    await sides.redis.zadd(KEYS.zset, {"4711": 6})
    async with by_the_clock(rounds_of(sides, metrics, reconcile_every_s=0.05, reconcile_repairs=False)):
        await until(lambda: told(metrics, "reconcile_left", board="s12") == 1)
    assert await sides.redis.zscore(KEYS.zset, "4711") == 6


async def test_a_total_that_its_rows_do_not_add_up_to_is_left_to_a_person(
    sides: BothSides, metrics: Metrics
) -> None:
    before = await order(sides.redis, sides.season)
    await sides.sql("DELETE FROM match_results WHERE player_id = 7")
    await sides.sql("UPDATE player_totals SET points = points + 1 WHERE player_id = 7")
    async with by_the_clock(rounds_of(sides, metrics, reconcile_every_s=0.05)):
        await until(lambda: told(metrics, "reconciles_total", outcome="left"))
    assert told(metrics, "reconcile_left", board="s12") == 2
    assert await order(sides.redis, sides.season) == before


async def test_an_audit_is_made_when_the_last_one_is_old_enough_whoever_made_it(
    sides: BothSides, metrics: Metrics
) -> None:
    async with by_the_clock(rounds_of(sides, metrics, audit_every_s=3600, reconcile_every_s=0.05)):
        await until(lambda: told(metrics, "audit_equal", board="s12") == 1)
    second = Metrics()
    async with by_the_clock(rounds_of(sides, second, audit_every_s=3600, reconcile_every_s=0.05)):
        await until(lambda: told(second, "audit_equal", board="s12") == 1)
    stored = await sides.archive.last_audit(12)
    assert stored is not None
    assert stored.audit_id == 1
    assert 0 <= (told(second, "audit_age_seconds", board="s12") or -1) < 60


async def test_an_audit_that_finds_a_difference_is_told_in_the_metric(
    sides: BothSides, metrics: Metrics
) -> None:
    await sides.sql("DELETE FROM match_results WHERE player_id = 7")
    async with by_the_clock(rounds_of(sides, metrics, audit_every_s=0.05)):
        await until(lambda: told(metrics, "audit_equal", board="s12") == 0)


async def test_a_board_that_cannot_be_compared_now_does_not_hold_up_the_others(
    sides: BothSides, metrics: Metrics
) -> None:
    behind = make_season(season_id=3)
    await sides.archive.create_season(behind)
    await sides.redis.hset("lb:{s3}:applied", mapping={"log": sides.log, "0": 10_000})
    await sides.redis.hset("lb:{s3}:meta", mapping={"epoch": "0" * 16, "version": 1})
    async with by_the_clock(rounds_of(sides, metrics, reconcile_every_s=0.05, cut_wait_s=0.1)):
        await until(lambda: told(metrics, "reconciles_total", outcome="equal"))
    assert told(metrics, "retries_total", part="rounds", reason="CutImpossible")
    assert told(metrics, "reconcile_players", board="s3") is None


async def test_a_redis_that_is_away_for_a_while_does_not_end_the_rounds(
    archive: Archive, metrics: Metrics, own_valkey: Valkey
) -> None:
    async with connect(own_valkey.address) as redis:
        sides = await both_sides(archive, BoardStore(redis, Settings(), metrics), redis)
        own_valkey.kill()
        async with by_the_clock(rounds_of(sides, metrics, reconcile_every_s=0.05)):
            await until(lambda: told(metrics, "retries_total", part="rounds", reason="ConnectionError"))
            await own_valkey.start()
            await until(lambda: told(metrics, "reconciles_total", outcome="equal"))


async def test_where_both_are_off_nothing_is_done(sides: BothSides, metrics: Metrics) -> None:
    await sides.redis.zadd(KEYS.zset, {"4711": 6})
    async with by_the_clock(rounds_of(sides, metrics)):
        await asyncio.sleep(0)
    assert await sides.archive.last_audit(12) is None
    assert await sides.redis.zscore(KEYS.zset, "4711") == 6


async def test_a_comparison_that_fails_by_itself_takes_nothing_down(
    sides: BothSides, metrics: Metrics
) -> None:
    async with sides.archive._database.transaction() as connection:
        await connection.execute("ALTER TABLE player_totals RENAME COLUMN points TO score")
    async with by_the_clock(rounds_of(sides, metrics, reconcile_every_s=0.05)):
        await until(lambda: told(metrics, "retries_total", part="rounds", reason="UndefinedColumnError"))
        async with sides.archive._database.transaction() as connection:
            await connection.execute("ALTER TABLE player_totals RENAME COLUMN score TO points")
        await until(lambda: told(metrics, "reconciles_total", outcome="equal"))
