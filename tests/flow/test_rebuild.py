"""A rebuild from PostgreSQL: what it makes, and what becomes of it when it is disturbed."""

import asyncio
import time
from collections.abc import Callable

import pytest
from redis import Redis as BlockingRedis
from redis.asyncio import Redis

from server.archive.catalog import SeasonCatalog
from server.archive.logs import Evidence
from server.archive.store import Archive
from server.board.batch import Asked, SubmitBatch
from server.board.keys import BoardKeys
from server.board.position import Applied, new_epoch
from server.board.rebuilds import RebuildLost, RebuildRefused
from server.board.store import BoardStore
from server.core.results import Result
from server.core.season import Operator, Season
from server.errors import RankcastError
from server.keeper.progress import Progress
from server.keeper.rebuild import LogNotCurrent, Rebuilder
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.archives import append, new_log
from tests.flow.boards import (
    LIFE_S,
    Maker,
    changes,
    codes,
    make_season,
    now_us,
    open_board,
    order,
    players,
    ranked,
    settle,
)
from tests.waiting import until

IDS = [-(2**63), -10, -1, 0, 1, 9, 10, 2**63 - 1]
KEYS = BoardKeys(12)


@pytest.fixture
def settings() -> Settings:
    return Settings(rebuild_chunk=3)


def make_rebuilder(
    settings: Settings, archive: Archive, boards: BoardStore, metrics: Metrics | None = None
) -> Rebuilder:
    return Rebuilder(settings, metrics or Metrics(), archive, boards, SeasonCatalog(archive, time.monotonic))


@pytest.fixture
def rebuilder(settings: Settings, metrics: Metrics, archive: Archive, boards: BoardStore) -> Rebuilder:
    return make_rebuilder(settings, archive, boards, metrics)


@pytest.fixture
async def season(archive: Archive) -> Season:
    """A season of operator best that stands in PostgreSQL."""
    season = make_season("best")
    await archive.create_season(season)
    return season


async def sql_order(archive: Archive, season: Season) -> list[tuple[int, int]]:
    """(player, score) from rank 1 on, as SQL orders them."""
    rows = await archive.top(season.season_id, 1_000_000)
    return [(row.player_id, season.codec.encode(row.points, row.achieved_us)) for row in rows]


async def fill(archive: Archive, log: int, season: Season, *, count: int = 40) -> list[Result]:
    """Results of all kinds of players, many with equal points and times, in PostgreSQL."""
    maker = Maker(season)
    results = [maker.result(IDS[n % 8], n * 7 % 5 if n > 4 else 0, at=n % 3) for n in range(count)]
    await append(archive, log, *results)
    return results


def gone() -> Callable[[Progress], None]:
    """A listener that fails the test: there is nothing to tell."""

    def listen(_: Progress) -> None:
        raise AssertionError("nothing should have been loaded")

    return listen


async def making(redis: Redis) -> list[str]:
    """Keys of boards in the making, and what else a rebuild leaves behind."""
    return sorted(str(key) for key in await redis.keys("*rebuild*"))


# -- what it makes


@pytest.mark.parametrize("operator", ["best", "sum"])
async def test_the_board_is_what_sql_computes_player_by_player(
    archive: Archive, redis: Redis, rebuilder: Rebuilder, operator: Operator
) -> None:
    season = make_season(operator, points_bits=3)
    await archive.create_season(season)
    await fill(archive, await new_log(archive), season)
    report = await rebuilder.rebuild(12)
    assert await order(redis, season) == await sql_order(archive, season)
    assert (report.players, report.started_over) == (8, 0)


async def test_a_new_season_gets_an_empty_board_that_takes_results_f10(
    archive: Archive, redis: Redis, boards: BoardStore, rebuilder: Rebuilder, season: Season
) -> None:
    log = await new_log(archive, partitions=2)
    await rebuilder.rebuild(12)
    assert await boards.applied(12) == Applied(log, {0: 0, 1: 0})
    epoch, version = await boards.position(12) or ("", 0)
    assert (len(epoch), version) == (16, 1)
    assert [(event["rows"], event["reason"]) for event in await changes(redis, season)] == [([], "replaced")]
    maker = Maker(season, log=log)
    batch = maker.batch(maker.result(1, 5), asked=Asked(0, False, [False]))
    assert codes(await boards.submit(batch)) == [1]


async def test_a_rebuild_of_nothing_empties_the_board_f10(
    archive: Archive, redis: Redis, boards: BoardStore, rebuilder: Rebuilder, season: Season
) -> None:
    await new_log(archive)
    await open_board(boards, season, log=99)
    await settle(redis, season)
    maker = Maker(season, log=99)
    await boards.submit(maker.batch(*[maker.result(player, 5) for player in range(300)]))
    await rebuilder.rebuild(12)
    assert await order(redis, season) == []


async def test_each_rebuild_is_a_new_epoch_whose_change_log_begins_with_it(
    archive: Archive, redis: Redis, boards: BoardStore, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    epochs = []
    for _ in range(3):
        await rebuilder.rebuild(12)
        epochs.append(await boards.position(12))
    assert len(set(epochs)) == 3
    assert [(event["epoch"], event["version"]) for event in await changes(redis, season)] == [epochs[-1]]


async def test_nothing_but_the_board_stays_behind(
    archive: Archive, redis: Redis, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    await rebuilder.rebuild(12)
    assert set(await redis.keys("*")) == {name.encode() for name in (*KEYS.board, KEYS.lost)}
    assert 0 < await redis.ttl(KEYS.lost) <= 3
    assert not await redis.hexists(KEYS.meta, "chunks")
    assert await redis.hget(KEYS.meta, "season") is not None


async def test_the_board_goes_on_where_postgresql_was_read_and_asks_it_about_what_was_before(
    archive: Archive, boards: BoardStore, rebuilder: Rebuilder, season: Season
) -> None:
    log = await new_log(archive)
    results = await fill(archive, log, season, count=6)
    await rebuilder.rebuild(12)
    assert await boards.applied(12) == Applied(log, {0: 6})
    maker = Maker(season, log=log, next_offset=6)
    retry = maker.batch(results[3])
    assert (await boards.submit(retry)).kind == "ask"
    await archive.store(log, 0, 6, 6, [], evidence=Evidence(at_end_ago_us=0))
    word = await archive.ask(log, 0, 12, [(results[3].match_id, results[3].player_id, 6)])
    asked = Asked(word.sql_next, word.behind, word.elsewhere)
    reply = await boards.submit(maker.batch(results[3], start=6, asked=asked))
    assert codes(reply) == [-1]


async def test_a_live_board_of_another_log_does_not_hold_up_the_swap(
    archive: Archive, redis: Redis, boards: BoardStore, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    await open_board(boards, season, log=99, offsets={0: 1_000_000})
    await rebuilder.rebuild(12)
    assert await order(redis, season) == await sql_order(archive, season)


async def test_viewers_see_the_old_board_whole_until_they_see_the_new_one_whole_f13(
    archive: Archive, redis: Redis, boards: BoardStore, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    await open_board(boards, season, log=99)
    await settle(redis, season)
    maker = Maker(season, log=99)
    await boards.submit(maker.batch(*[maker.result(player, 5) for player in range(3)]))
    old = await ranked(redis, season)
    seen = [old]

    async def look() -> bool:
        seen.append(await ranked(redis, season))
        return seen[-1] != old

    looking = asyncio.create_task(until(look, every=0))
    await rebuilder.rebuild(12)
    await looking
    new = [player for player, _ in await sql_order(archive, season)]
    assert [rows for rows in seen if rows not in (old, new)] == []
    assert seen.count(old) > 5


async def test_progress_counts_players_and_tells_what_is_left(
    archive: Archive, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    told: list[Progress] = []
    await rebuilder.rebuild(12, told.append)
    assert [(at.step, at.players, at.of) for at in told] == [
        ("load", 3, 8),
        ("load", 6, 8),
        ("load", 8, 8),
        ("done", 8, 8),
    ]
    assert all(at.per_second > 0 for at in told)
    assert told[0].left_s is not None
    assert told[-1].left_s is None


# -- what it refuses


async def test_an_unknown_season_is_refused(rebuilder: Rebuilder) -> None:
    with pytest.raises(RankcastError, match="no season 7"):
        await rebuilder.rebuild(7, gone())


async def test_before_postgresql_has_read_a_log_there_is_nothing_to_rebuild_from(
    rebuilder: Rebuilder, redis: Redis, season: Season
) -> None:
    with pytest.raises(LogNotCurrent, match="let persist run"):
        await rebuilder.rebuild(12, gone())
    assert await redis.keys("*") == []


async def test_a_postgresql_that_reads_another_log_than_the_topic_is_now_is_no_source(
    kafka_bootstrap: str, topic: str, archive: Archive, boards: BoardStore, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    settings = Settings(kafka_bootstrap=kafka_bootstrap, topic=topic)
    with pytest.raises(LogNotCurrent, match="PostgreSQL reads log 1, the topic is log 2"):
        await make_rebuilder(settings, archive, boards).rebuild(12, gone())


async def test_without_kafka_a_lost_board_is_rebuilt_all_the_same(
    archive: Archive, redis: Redis, boards: BoardStore, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    await make_rebuilder(Settings(kafka_bootstrap="127.0.0.1:1"), archive, boards).rebuild(12)
    assert await order(redis, season) == await sql_order(archive, season)


async def test_of_two_rebuilds_at_once_the_second_is_refused_with_the_reason_f13(  # noqa: PLR0917  fixtures
    archive: Archive,
    redis: Redis,
    boards: BoardStore,
    rebuilder: Rebuilder,
    season: Season,
    metrics: Metrics,
) -> None:
    await fill(archive, await new_log(archive), season)
    async with boards.rebuilds.lock(12, "the first"):
        with pytest.raises(RebuildRefused, match="season 12 is being worked on by the first"):
            await rebuilder.rebuild(12)
    await rebuilder.rebuild(12)
    assert await order(redis, season) == await sql_order(archive, season)
    for outcome in ("done", "refused"):
        assert metrics.registry.get_sample_value("rankcast_rebuilds_total", {"outcome": outcome}) == 1


# -- what it bears


class Crash(Exception):  # noqa: N818  stands for a kill
    """Ends a rebuild in the middle."""


async def test_a_rebuild_that_fails_in_the_middle_leaves_nothing_and_the_next_one_works(
    archive: Archive, redis: Redis, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)

    def crash(_: Progress) -> None:
        raise Crash

    with pytest.raises(Crash):
        await rebuilder.rebuild(12, crash)
    assert await making(redis) == []
    await rebuilder.rebuild(12)
    assert await order(redis, season) == await sql_order(archive, season)


async def test_what_a_killed_rebuild_left_is_removed_by_the_next_one_f13(
    archive: Archive, redis: Redis, boards: BoardStore, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    killed = BoardKeys(12, new_epoch())
    await boards.rebuilds.begin(killed, season)
    await boards.rebuilds.load(killed, 0, [(5, 1)])
    assert len(await making(redis)) > 2
    await rebuilder.rebuild(12)
    assert await making(redis) == []


async def test_a_killed_rebuild_keeps_others_away_no_longer_than_its_lock_lives(
    archive: Archive, redis: Redis, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    await redis.set(KEYS.lock, "killed", px=300)
    with pytest.raises(RebuildRefused, match=r"by killed; wait until it is done or, .* 1 seconds"):
        await rebuilder.rebuild(12)

    async def free() -> bool:
        return not await redis.exists(KEYS.lock)

    await until(free, within=5)
    await rebuilder.rebuild(12)
    assert await order(redis, season) == await sql_order(archive, season)


async def test_a_rebuild_that_outlived_its_lock_does_not_bring_back_what_a_reset_removed(
    archive: Archive, redis: Redis, boards: BoardStore, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    await rebuilder.rebuild(12)
    standing_still = BoardKeys(12, new_epoch())
    await boards.rebuilds.begin(standing_still, season)
    await boards.rebuilds.load(standing_still, 0, [(5, 1)])
    await boards.rebuilds.finish(standing_still, 1, Applied(1, {0: 40}))
    await archive.reset_season(12)
    await boards.rebuilds.remove_board(12)
    with pytest.raises(RebuildLost):
        await boards.rebuilds.swap(standing_still)
    assert await order(redis, season) == []


async def test_a_board_from_before_its_seasons_reset_is_made_anew_without_its_markers(
    archive: Archive, redis: Redis, boards: BoardStore, rebuilder: Rebuilder, season: Season
) -> None:
    log = await new_log(archive)
    [old, *_] = await fill(archive, log, season)
    await rebuilder.rebuild(12)
    await redis.set(KEYS.dedup(old.match_id, old.player_id), f"{log}:0:0")
    await archive.reset_season(12)  # and a Redis that has gone back to a copy from before that
    [standing] = await boards.standings([12])
    now = await archive.season(12)
    assert now is not None
    assert standing.is_outdated(now)
    await rebuilder.rebuild(12)
    [standing] = await boards.standings([12])
    assert not standing.is_outdated(now)
    assert await order(redis, season) == []
    assert await redis.keys(KEYS.every_dedup) == []


async def test_a_rebuilt_board_asks_until_results_dated_ahead_are_old(
    archive: Archive, redis: Redis, boards: BoardStore, rebuilder: Rebuilder
) -> None:
    """Their markers went with the Redis that was lost, and they look new for longer than a marker's life."""
    season = make_season("sum")
    await archive.create_season(season)
    ahead = Maker(season).result(1, 5, at=60 + 2 * LIFE_S)
    await append(archive, await new_log(archive), ahead)
    await rebuilder.rebuild(12)
    await redis.hincrby(KEYS.meta, "asking", -LIFE_S - 60)  # that much later
    retry = Maker(season, next_offset=1).batch(ahead)
    assert (await boards.submit(retry)).kind == "ask"


async def test_a_long_rebuild_keeps_its_lock(archive: Archive, redis: Redis, boards: BoardStore) -> None:
    boards = BoardStore(redis, Settings(rebuild_lock_s=0.3), Metrics())
    async with boards.rebuilds.lock(12, "long"):
        began = time.monotonic()
        await until(lambda: time.monotonic() - began > 0.7)
        assert await redis.get(KEYS.lock) == b"long"
    assert not await redis.exists(KEYS.lock)


async def test_a_board_in_the_making_that_gets_lost_is_loaded_again(
    archive: Archive, redis: Redis, redis_url: str, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    losses = iter([True])

    def lose_it_once(progress: Progress) -> None:
        if next(losses, False):  # at once, before the rebuild goes on
            with BlockingRedis.from_url(redis_url) as client:
                client.delete(*client.keys("*rebuild:*:meta"))

    report = await rebuilder.rebuild(12, lose_it_once)
    assert report.started_over == 1
    assert await order(redis, season) == await sql_order(archive, season)
    assert await making(redis) == []


async def test_chunks_that_do_not_follow_are_not_taken(
    redis: Redis, boards: BoardStore, season: Season
) -> None:
    keys = BoardKeys(12, new_epoch())
    await boards.rebuilds.begin(keys, season)
    await boards.rebuilds.load(keys, 0, [(5, 1)])
    with pytest.raises(RebuildLost, match="chunk 1 is due"):
        await boards.rebuilds.load(keys, 2, [(9, 9)])
    await boards.rebuilds.load(keys, 0, [(5, 1)])  # whose answer was lost
    with pytest.raises(RebuildLost, match="not all of the 2 chunks"):
        await boards.rebuilds.finish(keys, 2, Applied(1))
    with pytest.raises(RebuildLost, match="no position"):
        await boards.rebuilds.swap(keys)
    assert await redis.zrange(keys.zset, 0, -1) == [b"1"]


async def test_a_board_in_the_making_that_lost_players_is_not_opened(
    redis: Redis, boards: BoardStore, season: Season
) -> None:
    keys = BoardKeys(12, new_epoch())
    await boards.rebuilds.begin(keys, season)
    await boards.rebuilds.load(keys, 0, [(5, 1)])
    await redis.delete(keys.zset)
    await boards.rebuilds.load(keys, 1, [(9, 9)])
    with pytest.raises(RebuildLost, match="not all of their players"):
        await boards.rebuilds.finish(keys, 2, Applied(1))


@pytest.mark.parametrize("name", ["zset", "meta", "applied"])
async def test_a_board_in_the_making_that_lost_one_of_its_keys_never_goes_live(
    redis: Redis, boards: BoardStore, season: Season, name: str
) -> None:
    await open_board(boards, season)
    live = await boards.position(12)
    keys = BoardKeys(12, new_epoch())
    await boards.rebuilds.begin(keys, season)
    await boards.rebuilds.load(keys, 0, [(5, 1)])
    await boards.rebuilds.finish(keys, 1, Applied(1))
    await redis.delete(getattr(keys, name))
    with pytest.raises(RebuildLost, match="no position"):
        await boards.rebuilds.swap(keys)
    assert await boards.position(12) == live


async def test_where_the_lock_was_lost_two_rebuilds_are_kept_apart_by_their_ids(
    archive: Archive, redis: Redis, rebuilder: Rebuilder, season: Season
) -> None:
    await fill(archive, await new_log(archive), season)
    second: list[asyncio.Task[object]] = []

    def unlock(_: Progress) -> None:
        if not second:
            second.append(asyncio.create_task(again()))

    async def again() -> object:
        await redis.delete(KEYS.lock)
        return await rebuilder.rebuild(12)

    await rebuilder.rebuild(12, unlock)
    await asyncio.gather(*second)
    assert await order(redis, season) == await sql_order(archive, season)
    assert await making(redis) == []


async def test_a_swap_waits_until_the_new_board_has_read_as_far_as_the_live_one_on_every_partition(
    boards: BoardStore, redis: Redis, season: Season
) -> None:
    await open_board(boards, season, offsets={0: 5, 1: 7})
    keys = BoardKeys(12, new_epoch())
    await boards.rebuilds.begin(keys, season)
    await boards.rebuilds.finish(keys, 0, Applied(1, {0: 9}))
    before = await boards.position(12)
    assert not await boards.rebuilds.swap(keys)
    assert await boards.position(12) == before
    await boards.submit(SubmitBatch(season, 1, 1, 0, 7, keys=keys))
    assert await boards.rebuilds.swap(keys)
    assert await boards.applied(12) == Applied(1, {0: 9, 1: 7})


async def test_a_live_board_that_cannot_be_reached_is_held_for_a_moment_and_goes_on_by_itself(
    boards: BoardStore, redis: Redis, season: Season
) -> None:
    await open_board(boards, season, offsets={0: 5})
    keys = BoardKeys(12, new_epoch())
    await boards.rebuilds.begin(keys, season)
    await boards.rebuilds.finish(keys, 0, Applied(1))
    assert not await boards.rebuilds.swap(keys)
    assert (await boards.submit(SubmitBatch(season, 1, 0, 5, 6))).kind == "done"
    assert not await boards.rebuilds.swap(keys, hold_s=0.5)
    assert (await boards.submit(SubmitBatch(season, 1, 0, 6, 7))).kind == "wait"
    assert (await boards.submit(SubmitBatch(season, 1, 0, 0, 6, keys=keys))).kind == "done"

    async def goes_on() -> bool:
        return (await boards.submit(SubmitBatch(season, 1, 0, 6, 7))).kind == "done"

    await until(goes_on, within=5)


async def test_a_swap_ends_the_hold(boards: BoardStore, redis: Redis, season: Season) -> None:
    await open_board(boards, season, offsets={0: 5})
    keys = BoardKeys(12, new_epoch())
    await boards.rebuilds.begin(keys, season)
    await boards.rebuilds.finish(keys, 0, Applied(1))
    assert not await boards.rebuilds.swap(keys, hold_s=60)
    await boards.submit(SubmitBatch(season, 1, 0, 0, 5, keys=keys))
    assert await boards.rebuilds.swap(keys, hold_s=60)
    assert (await boards.submit(SubmitBatch(season, 1, 0, 5, 6))).kind == "done"


async def test_players_of_ids_that_are_texts_of_each_other_stay_apart(
    archive: Archive, redis: Redis, rebuilder: Rebuilder, season: Season
) -> None:
    maker = Maker(season, began_us=now_us())
    await append(archive, await new_log(archive), *[maker.result(player, 1) for player in (1, 10, 100, -1)])
    await rebuilder.rebuild(12)
    assert players(await order(redis, season)) == [100, 10, 1, -1]
