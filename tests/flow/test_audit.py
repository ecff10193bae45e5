"""An audit: it finds whatever differs between rows, totals and board, and nothing while they only move."""

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable

import pytest
from redis.asyncio import Redis

from server.archive.catalog import SeasonCatalog
from server.archive.store import Archive
from server.board.store import BoardStore
from server.core.season import Operator
from server.errors import RankcastError
from server.keeper.audit import Auditor, Step
from server.keeper.board_cut import NoBoard
from server.keeper.exact import CutImpossible
from server.keeper.rebuild import Rebuilder
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.archives import new_log
from tests.flow.boards import make_season, order
from tests.flow.both_sides import KEYS, BothSides, both_sides
from tests.flow.feeds import open_flow
from tests.waiting import until

IDS = [-(2**63), -10, -1, 0, 1, 9, 10, 100, 2**63 - 1]


@pytest.fixture
def settings() -> Settings:
    return Settings(cut_wait_s=0.2, mirror_page=10)


@pytest.fixture
def auditor(
    settings: Settings, metrics: Metrics, archive: Archive, boards: BoardStore, redis: Redis
) -> Auditor:
    return Auditor(settings, metrics, archive, boards, redis)


async def filled(
    archive: Archive, boards: BoardStore, redis: Redis, operator: Operator = "best"
) -> BothSides:
    """Players with many equal points and times, some with several results, on both sides."""
    sides = await both_sides(archive, boards, redis, operator, points_bits=5)
    maker = sides.maker
    await sides.both(*[maker.result(IDS[n % 9], n * 7 % 20 if n > 5 else 0, at=n % 3) for n in range(60)])
    await sides.both(*[maker.result(player, player % 4, at=player % 2) for player in range(200, 260)])
    return sides


@pytest.fixture
async def sides(archive: Archive, boards: BoardStore, redis: Redis) -> BothSides:
    return await filled(archive, boards, redis)


# -- equal


@pytest.mark.parametrize("operator", ["best", "sum"])
async def test_rows_totals_and_board_are_equal_and_so_are_their_hashes(
    archive: Archive, boards: BoardStore, redis: Redis, auditor: Auditor, operator: Operator
) -> None:
    sides = await filled(archive, boards, redis, operator)
    record = await auditor.audit(12)
    assert record.equal, record.examples
    assert (record.players, record.results, record.applied) == (69, 120, {0: 120})
    assert (record.epoch, record.version) == await boards.position(12)
    assert record.sha256_board == record.sha256_sql == await hash_of(sides)


async def hash_of(sides: BothSides) -> str:
    """The documented text, made of what Redis itself tells in order."""
    lines = []
    for rank, (player, score) in enumerate(await order(sides.redis, sides.season), start=1):
        points, achieved_ms = sides.season.codec.decode(score)
        lines.append(f"{rank} {player} {points} {achieved_ms}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


async def test_an_empty_board_is_equal_to_an_empty_season_f10(
    archive: Archive, boards: BoardStore, redis: Redis, auditor: Auditor
) -> None:
    await both_sides(archive, boards, redis)
    record = await auditor.audit(12)
    assert record.equal
    assert (record.players, record.sha256_sql) == (0, hashlib.sha256().hexdigest())


@pytest.mark.parametrize("operator", ["best", "sum"])
async def test_what_postgresql_has_read_beyond_the_board_is_left_out_to_the_row(
    archive: Archive, boards: BoardStore, redis: Redis, auditor: Auditor, operator: Operator
) -> None:
    sides = await filled(archive, boards, redis, operator)
    before = await auditor.audit(12)
    maker = sides.maker
    await sides.store([maker.result(player, 31, at=-5) for player in (1, 9, 77777)], 120)
    record = await auditor.audit(12)
    assert record.equal, record.examples
    assert (record.results, record.sha256_sql) == (123, before.sha256_sql)


async def test_rows_of_a_log_that_was_left_count_whatever_their_offset(
    sides: BothSides, auditor: Auditor
) -> None:
    await new_log(sides.archive, "B")
    rebuilt = await both_sides_again(sides)
    record = await rebuilt.audit(12)
    assert record.equal, record.examples
    assert (record.players, record.applied) == (69, {0: 0})


async def both_sides_again(sides: BothSides) -> Auditor:
    """The board rebuilt from PostgreSQL, and an auditor for it."""
    catalog = SeasonCatalog(sides.archive, asyncio.get_running_loop().time)
    await Rebuilder(sides.settings, Metrics(), sides.archive, sides.boards, catalog).rebuild(12)
    return Auditor(sides.settings, Metrics(), sides.archive, sides.boards, sides.redis)


async def test_an_audit_beside_results_that_keep_coming_is_equal_at_its_very_position(
    archive: Archive, boards: BoardStore, redis: Redis
) -> None:
    sides = await filled(archive, boards, redis, "sum")
    maker, stop, chance = sides.maker, asyncio.Event(), random.Random(5)
    first = maker.next_offset

    async def persist() -> None:
        """PostgreSQL reads what the board has read, a moment later."""
        at = first
        while not stop.is_set() or at < len(records):
            await asyncio.sleep(0)
            batch = records[at : at + chance.randrange(100)]
            await sides.store(batch, at)
            at += len(batch)

    records = [maker.result(0, 0) for _ in range(first)]

    async def ingest() -> None:
        while not stop.is_set():
            results = [maker.result(chance.randrange(300), chance.randrange(4)) for _ in range(20)]
            records.extend(results)
            await sides.submit(results, len(records) - 20)

    patient = Auditor(sides.settings, Metrics(), archive, boards, redis)
    moving = [asyncio.create_task(persist()), asyncio.create_task(ingest())]
    seen = []
    for _ in range(5):
        record = await patient.audit(12)
        assert record.equal, record.examples
        seen.append(record.version)
    stop.set()
    await asyncio.gather(*moving)
    assert seen == sorted(set(seen))
    assert (await patient.audit(12)).equal


# -- not equal


async def _score_changed(sides: BothSides) -> None:
    await sides.redis.zincrby(KEYS.zset, 1 << 32, "9")


async def _member_added(sides: BothSides) -> None:
    await sides.redis.zadd(KEYS.zset, {"4711": 5})


async def _member_removed(sides: BothSides) -> None:
    await sides.redis.zrem(KEYS.zset, "9")


async def _no_player(sides: BothSides) -> None:
    await sides.redis.zadd(KEYS.zset, {"007": 5, "two words": 6})


async def _no_score(sides: BothSides) -> None:
    await sides.redis.zadd(KEYS.zset, {"9": 1.5})


async def _row_deleted(sides: BothSides) -> None:
    await sides.sql("DELETE FROM match_results WHERE player_id = 9")


async def _row_changed(sides: BothSides) -> None:
    await sides.sql("UPDATE match_results SET points = 30 WHERE player_id = 9 AND log_offset < 9")


async def _total_changed(sides: BothSides) -> None:
    await sides.sql("UPDATE player_totals SET achieved_at = achieved_at + interval '1 s' WHERE player_id = 9")


async def _total_deleted(sides: BothSides) -> None:
    await sides.sql("DELETE FROM player_totals WHERE player_id = 9")


@pytest.mark.parametrize(
    ("hand", "differences", "sentence"),
    [
        (_score_changed, {"score": 1}, "score: player 9: Redis 19 points"),
        (_member_added, {"extra": 1}, "extra: player 4711: Redis 0 points"),
        (_member_removed, {"missing": 1}, "missing: player 9: Redis none, SQL 18 points"),
        (_no_player, {"alien": 2}, "alien: member '007' with score 5"),
        (_no_score, {"alien": 1, "missing": 1}, "missing: player 9: Redis none, SQL 18 points"),
        (_row_deleted, {"extra": 1, "total": 1}, "total: player 9: rows none, player_totals 18 points"),
        (_row_changed, {"score": 1, "total": 1}, "total: player 9: rows 30 points"),
        (_total_changed, {"total": 1}, "total: player 9: rows 18 points"),
        (_total_deleted, {"total": 1}, "total: player 9: rows 18 points"),
    ],
)
async def test_what_a_hand_has_done_is_found_and_named(
    sides: BothSides,
    auditor: Auditor,
    hand: Callable[[BothSides], Awaitable[None]],
    differences: dict[str, int],
    sentence: str,
) -> None:
    await hand(sides)
    record = await auditor.audit(12)
    assert not record.equal
    assert record.differences == differences
    assert any(example.startswith(sentence) for example in record.examples), record.examples


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("DELETE FROM match_results WHERE log_offset = $1", "of 122 rows that the audit of"),
        (
            "UPDATE match_results SET achieved_at = achieved_at + interval '1 us' WHERE log_offset = $1",
            "not all",
        ),
        ("UPDATE match_results SET match_id = gen_random_uuid() WHERE log_offset = $1", "not all"),
        ("UPDATE match_results SET log_id = 0 WHERE log_offset = $1", "not all"),
    ],
)
async def test_a_row_that_decides_no_total_is_missed_by_the_next_audit(
    sides: BothSides, auditor: Auditor, statement: str, sentence: str
) -> None:
    await sides.both(sides.maker.result(9, 0, at=7))  # the audit before has to see rows beyond it come
    assert (await auditor.audit(12)).equal
    await sides.both(sides.maker.result(9, 1, at=8))
    assert (await auditor.audit(12)).equal
    await sides.sql(statement, 120)
    record = await auditor.audit(12)
    assert record.differences == {"row": 1}
    assert sentence in record.examples[0]


async def test_a_season_that_begins_anew_has_nothing_to_miss(sides: BothSides, auditor: Auditor) -> None:
    assert (await auditor.audit(12)).equal
    await sides.archive.reset_season(12)
    assert await sides.archive.last_audit(12) is None


async def test_hundreds_of_differences_are_counted_and_twenty_named(
    sides: BothSides, auditor: Auditor
) -> None:
    await sides.redis.zadd(KEYS.zset, {str(player): 5 for player in range(1000, 1300)})
    record = await auditor.audit(12)
    assert record.differences == {"extra": 300}
    assert len(record.examples) == 20


# -- what it keeps and tells


async def test_an_audit_is_kept_and_told_in_metrics(
    sides: BothSides, archive: Archive, auditor: Auditor, metrics: Metrics
) -> None:
    assert await archive.last_audit(12) is None
    first, second = await auditor.audit(12), await auditor.audit(12)
    stored = await archive.last_audit(12)
    assert stored is not None
    assert (stored.audit_id, stored.record) == (2, second)
    assert first.sha256_sql == second.sha256_sql
    assert metrics.registry.get_sample_value("rankcast_audits_total", {"outcome": "equal"}) == 2


async def test_progress_goes_from_the_board_to_its_last_player(sides: BothSides, auditor: Auditor) -> None:
    steps: list[Step] = []
    await auditor.audit(12, steps.append)
    assert (steps[0], steps[-1]) == (Step(0, 0), Step(69, 69))


# -- what it cannot do


async def test_an_unknown_season_is_refused(auditor: Auditor) -> None:
    with pytest.raises(RankcastError, match="no season 12"):
        await auditor.audit(12)


async def test_without_a_board_there_is_nothing_to_audit(archive: Archive, auditor: Auditor) -> None:
    await archive.create_season(make_season())
    with pytest.raises(NoBoard, match="no board s12 in Redis"):
        await auditor.audit(12)


async def test_a_postgresql_that_is_behind_the_board_is_waited_for_and_then_named(
    sides: BothSides, auditor: Auditor
) -> None:
    await sides.submit([sides.maker.result(1, 3)], 120)
    with pytest.raises(CutImpossible, match=r"partition 0 up to 120, the board up to 121; let persist run"):
        await auditor.audit(12)
    assert await sides.archive.last_audit(12) is None


async def test_a_board_of_another_log_cannot_be_audited(sides: BothSides, auditor: Auditor) -> None:
    await new_log(sides.archive, "B")
    with pytest.raises(CutImpossible, match="the board is of log 1, PostgreSQL reads log 2"):
        await auditor.audit(12)


# -- the roles themselves


async def test_an_audit_beside_the_real_roles_at_work_is_equal(
    kafka_bootstrap: str, topic: str, redis_url: str, database_url: str
) -> None:
    settings = Settings(
        kafka_bootstrap=kafka_bootstrap,
        topic=topic,
        redis_url=redis_url,
        database_url=database_url,
        consumer_groups=False,
    )
    async with open_flow(settings) as flow:
        season = await flow.season(make_season("sum"))
        flow.persist()
        flow.ingest()
        await until(lambda: flow.boards.applied(12))
        stop, sent = asyncio.Event(), 0

        async def feed() -> None:
            nonlocal sent
            while not stop.is_set():
                await flow.send(
                    [flow.record(season, player % 700, player % 3) for player in range(sent, sent + 200)]
                )
                sent += 200

        feeding = asyncio.create_task(feed())

        async def all_partitions_count() -> bool:
            applied = await flow.boards.applied(12)
            return applied is not None and len(applied.offsets) == 4 and all(applied.offsets.values())

        await until(all_partitions_count)
        auditor = Auditor(settings, Metrics(), flow.archive, flow.boards, flow.redis)
        records = [await auditor.audit(12) for _ in range(3)]
        stop.set()
        await feeding
        assert [record.examples for record in records] == [[], [], []]
        assert len({record.sha256_board for record in records}) == 3
        assert all(len(record.applied) == 4 for record in records)
