"""A rebuild from PostgreSQL: what it makes, what it says, and when there is nothing to make it from."""

import asyncio

import pytest
from redis.asyncio import Redis

from server.archive.logs import Evidence
from server.archive.store import Archive
from server.board.batch import Asked
from server.board.position import Applied
from server.board.store import BoardStore
from server.core.season import Operator, Season
from server.errors import RankcastError
from server.keeper.progress import Progress
from server.keeper.rebuild import LogNotCurrent, Rebuilder
from server.settings import Settings
from tests.flow.archives import append, new_log
from tests.flow.boards import (
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
from tests.flow.rebuild.common import KEYS, fill, gone, make_rebuilder, sql_order
from tests.waiting import until


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


async def test_players_of_ids_that_are_texts_of_each_other_stay_apart(
    archive: Archive, redis: Redis, rebuilder: Rebuilder, season: Season
) -> None:
    maker = Maker(season, began_us=now_us())
    await append(archive, await new_log(archive), *[maker.result(player, 1) for player in (1, 10, 100, -1)])
    await rebuilder.rebuild(12)
    assert players(await order(redis, season)) == [100, 10, 1, -1]
