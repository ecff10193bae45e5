"""Reconcile: it names who differs, and mends it beside results that keep coming, never with an old value."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest
from redis.asyncio import Redis

from server.archive.store import Archive
from server.board.position import Applied
from server.board.repairs import Repair, Standstill
from server.board.store import BoardStore
from server.core.season import Operator
from server.errors import RankcastError
from server.keeper.exact import CutImpossible
from server.keeper.reconcile import Reconciler, Step
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.boards import changes, order
from tests.flow.both_sides import KEYS, BothSides, both_sides
from tests.flow.mirroring import watched
from tests.waiting import until

Hand = Callable[[BothSides], Awaitable[object]]


@pytest.fixture
def settings() -> Settings:
    return Settings(cut_wait_s=0.2, mirror_page=10)


@pytest.fixture
def reconciler(
    settings: Settings, metrics: Metrics, archive: Archive, boards: BoardStore, redis: Redis
) -> Reconciler:
    return Reconciler(settings, metrics, archive, boards, redis)


async def filled(archive: Archive, boards: BoardStore, redis: Redis, operator: Operator) -> BothSides:
    sides = await both_sides(archive, boards, redis, operator)
    await sides.both(*[sides.maker.result(n % 40, n * 7 % 11, at=n % 3) for n in range(100)])
    return sides


@pytest.fixture
async def sides(archive: Archive, boards: BoardStore, redis: Redis) -> BothSides:
    return await filled(archive, boards, redis, "sum")


async def sql_order(sides: BothSides) -> list[tuple[int, int]]:
    rows = await sides.archive.top(12, 1_000_000)
    return [(row.player_id, sides.season.codec.encode(row.points, row.achieved_us)) for row in rows]


async def _score_changed(sides: BothSides) -> None:
    await sides.redis.zincrby(KEYS.zset, 1 << 32, "9")


async def _members_added(sides: BothSides) -> None:
    await sides.redis.zadd(KEYS.zset, {"4711": 5, "-1": 6})


async def _member_removed(sides: BothSides) -> None:
    await sides.redis.zrem(KEYS.zset, "9")


async def _no_players(sides: BothSides) -> None:
    await sides.redis.zadd(KEYS.zset, {b"007": 5, b"\xff two words": 6})


async def _no_score(sides: BothSides) -> None:
    await sides.redis.zadd(KEYS.zset, {"9": 1.5})


async def _total_changed(sides: BothSides) -> None:
    await sides.sql("UPDATE player_totals SET points = points + 1 WHERE player_id = 9")


async def _all_gone(sides: BothSides) -> None:
    await sides.redis.delete(KEYS.zset)


HANDS = [
    (_score_changed, {"score": 1}),
    (_members_added, {"extra": 2}),
    (_member_removed, {"missing": 1}),
    (_no_players, {"alien": 2}),
    (_no_score, {"alien": 1, "missing": 1}),
    (_total_changed, {"total": 1}),
    (_all_gone, {"missing": 40}),
]


@pytest.mark.parametrize(("hand", "found"), HANDS)
async def test_what_a_hand_has_done_is_named_and_mended(
    sides: BothSides, reconciler: Reconciler, hand: Hand, found: dict[str, int]
) -> None:
    before = await order(sides.redis, sides.season)
    await hand(sides)
    seen = await reconciler.reconcile(12, repair=False)
    assert (dict(seen.findings.counts), seen.repaired, seen.left) == (found, 0, sum(found.values()))
    mended = await reconciler.reconcile(12, repair=True)
    assert (dict(mended.findings.counts), mended.left) == (found, 0)
    assert await order(sides.redis, sides.season) == await sql_order(sides) == before
    assert (await reconciler.reconcile(12, repair=True)).found == 0


@pytest.mark.parametrize("operator", ["best", "sum"])
async def test_who_only_waits_for_a_result_is_no_difference(
    archive: Archive, boards: BoardStore, redis: Redis, reconciler: Reconciler, operator: Operator
) -> None:
    sides = await filled(archive, boards, redis, operator)
    await sides.store([sides.maker.result(player, 50) for player in (1, 2, 77777)], 100)
    found = await reconciler.reconcile(12, repair=True)
    assert (found.found, found.in_flight, found.players) == (0, 3, 40)
    assert len(await changes(redis, sides.season)) == 2


async def test_a_repair_goes_the_way_of_every_change(sides: BothSides, reconciler: Reconciler) -> None:
    before = await sides.boards.position(12)
    await _score_changed(sides)
    await _members_added(sides)
    await reconciler.reconcile(12, repair=True)
    assert before is not None
    event = (await changes(sides.redis, sides.season))[-1]
    assert (event["epoch"], event["version"]) == (before[0], before[1] + 1)
    ranks = {player: rank for rank, (player, _) in enumerate(await order(sides.redis, sides.season), 1)}
    scores = dict(await order(sides.redis, sides.season))
    rows = {row[0]: row[1:] for row in event["rows"]}
    assert rows.keys() == {9, 4711, -1}
    assert rows[9][0] == scores[9]
    assert (rows[4711][0], rows[4711][2], rows[-1][0], rows[-1][2]) == (None, None, None, None)
    assert rows[9][2] == ranks[9]


async def test_hundreds_of_repairs_are_calls_of_a_hundred(sides: BothSides, reconciler: Reconciler) -> None:
    await sides.redis.zadd(KEYS.zset, {str(player): 5 for player in range(1000, 1250)})
    found = await reconciler.reconcile(12, repair=True)
    assert (found.repaired, found.left, len(found.findings.examples)) == (250, 0, 250)
    assert [len(event["rows"]) for event in (await changes(sides.redis, sides.season))[2:]] == [100, 100, 50]


# -- never an old value


async def test_a_result_after_the_look_makes_the_repair_write_nothing(sides: BothSides) -> None:
    at = Standstill((await sides.boards.position(12) or ("", 0))[0], Applied(sides.log, {0: 100}))
    repair = Repair({9: 5, 4711: None}, at.applied, {0: 100})
    await sides.both(sides.maker.result(1, 1))
    before = await order(sides.redis, sides.season)
    assert await sides.boards.repairs.repair(12, at, repair) is None
    assert await order(sides.redis, sides.season) == before
    assert await sides.boards.repairs.repair(12, at, Repair({9: 5}, at.applied, {0: 101})) == 1


@pytest.mark.parametrize(
    ("epoch", "applied"),
    [
        ("0" * 16, Applied(1, {0: 100})),
        (None, Applied(2, {0: 100})),
        (None, Applied(1, {})),
        (None, Applied(1, {0: 100, 1: 5})),
    ],
)
async def test_another_board_log_or_partition_makes_the_repair_write_nothing(
    sides: BothSides, epoch: str | None, applied: Applied
) -> None:
    epoch = epoch or (await sides.boards.position(12) or ("", 0))[0]
    repair = Repair({9: 5}, applied, applied.offsets)
    assert await sides.boards.repairs.repair(12, Standstill(epoch, applied), repair) is None


@pytest.mark.parametrize("operator", ["best", "sum"])
async def test_repairs_beside_results_that_keep_coming_end_in_what_sql_computes(
    archive: Archive, boards: BoardStore, redis: Redis, operator: Operator
) -> None:
    sides = await filled(archive, boards, redis, operator)
    reconciler = Reconciler(sides.settings, Metrics(), archive, boards, redis)
    stop, chance, at = asyncio.Event(), random.Random(7), 100

    async def feed() -> None:
        nonlocal at
        while not stop.is_set():
            results = [sides.maker.result(chance.randrange(60), chance.randrange(40)) for _ in range(10)]
            submit, store = sides.submit_when_free(results, at), sides.store(results, at)
            await asyncio.gather(submit, store)
            at += 10

    feeding = asyncio.create_task(feed())
    repaired = 0
    for _ in range(4):
        wrong = {str(chance.randrange(80)): chance.randrange(1 << 40) for _ in range(9)}
        await redis.zadd(KEYS.zset, wrong)
        found = await reconciler.reconcile(12, repair=True)
        repaired += found.repaired
        assert found.left == 0
    stop.set()
    await feeding
    assert repaired > 8
    last = await reconciler.reconcile(12, repair=True)
    assert (last.left, last.in_flight) == (0, 0)
    assert await order(redis, sides.season) == await sql_order(sides)


async def test_a_board_that_runs_away_is_held_for_a_moment_and_goes_on(sides: BothSides) -> None:
    standing = await sides.boards.repairs.hold(12, 60)
    assert standing is not None
    assert standing.applied == Applied(sides.log, {0: 100})
    assert await sides.boards.repairs.hold(12, 60) is None
    assert (await sides.boards.submit(sides.maker.batch(start=100))).kind == "wait"
    await sides.boards.repairs.repair(12, standing, Repair({}, standing.applied, {0: 100}))
    assert (await sides.boards.submit(sides.maker.batch(start=100))).kind == "done"


async def test_where_postgresql_falls_behind_players_are_left_and_the_hold_ends(
    sides: BothSides, reconciler: Reconciler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.keeper.repair.HOLD_S", 0.3)
    monkeypatch.setattr("server.keeper.repair.HELD_WAIT_S", 0.1)
    await _score_changed(sides)
    await sides.submit([sides.maker.result(1, 1)], 100)
    stuck = asyncio.create_task(reconciler._repairer.repair(sides.season, await epoch_of(sides), [9], [b"x"]))
    assert await stuck == (0, 2)

    async def goes_on() -> bool:
        return (await sides.boards.submit(sides.maker.batch(start=101))).kind == "done"

    await until(goes_on, within=5)


async def epoch_of(sides: BothSides) -> str:
    return (await sides.boards.position(12) or ("", 0))[0]


async def test_a_board_that_was_replaced_is_left_to_the_next_round(
    sides: BothSides, reconciler: Reconciler
) -> None:
    assert await reconciler._repairer.repair(sides.season, "0" * 16, [9], []) == (0, 1)


async def test_a_repair_on_another_server_begins_a_new_epoch(
    sides: BothSides, reconciler: Reconciler
) -> None:
    await sides.redis.hset(KEYS.meta, "run_id", "of another server")
    before = await epoch_of(sides)
    await _score_changed(sides)
    assert (await reconciler.reconcile(12, repair=True)).left == 0
    position = await sides.boards.position(12)
    assert position is not None
    assert position[0] != before
    assert [event["version"] for event in await changes(sides.redis, sides.season)] == [1]
    assert position[1] == 1


# -- what it tells


async def test_a_round_is_told_in_metrics(sides: BothSides, reconciler: Reconciler, metrics: Metrics) -> None:
    await _members_added(sides)
    await reconciler.reconcile(12, repair=False)
    await reconciler.reconcile(12, repair=True)
    told = metrics.registry.get_sample_value
    assert told("rankcast_reconcile_players", {"board": "s12"}) == 42
    assert told("rankcast_reconcile_differences_total", {"board": "s12", "kind": "extra"}) == 4
    assert told("rankcast_reconcile_repaired_total", {"board": "s12"}) == 2
    assert told("rankcast_reconcile_left", {"board": "s12"}) == 0
    for outcome in ("left", "repaired"):
        assert told("rankcast_reconciles_total", {"outcome": outcome}) == 1
    age = told("rankcast_reconcile_age_seconds", {"board": "s12"})
    assert age is not None
    assert age < 60


async def test_counts_come_first_then_players(sides: BothSides, reconciler: Reconciler) -> None:
    await _members_added(sides)
    steps: list[Step] = []
    await reconciler.reconcile(12, repair=False, on_step=steps.append)
    assert (steps[0], steps[-1]) == (Step((42, 40)), Step((42, 40), 40))


async def test_an_unknown_season_is_refused(reconciler: Reconciler) -> None:
    with pytest.raises(RankcastError, match="no season 12"):
        await reconciler.reconcile(12, repair=True)


async def test_a_postgresql_that_is_behind_is_named_and_nothing_is_compared(
    sides: BothSides, reconciler: Reconciler
) -> None:
    await sides.submit([sides.maker.result(1, 3)], 100)
    with pytest.raises(CutImpossible, match="let persist run"):
        await reconciler.reconcile(12, repair=True)


async def test_viewers_see_a_repair_like_any_change(
    sides: BothSides, reconciler: Reconciler, redis_url: str
) -> None:
    async with watched(redis_url, sides.season) as mirror:
        await _score_changed(sides)
        await _members_added(sides)
        await reconciler.reconcile(12, repair=True)
        await until(lambda: mirror.mirror.version == 3)
        assert mirror.stale_words() == []
        assert mirror.rows() == await sql_order(sides)
