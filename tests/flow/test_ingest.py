"""Ingest and persist side by side: from Kafka to the board and to PostgreSQL, on both brokers."""

from collections.abc import AsyncIterator
from functools import partial

import pytest

from server.board.keys import BoardKeys
from server.settings import Settings
from tests.flow.boards import make_season, settle
from tests.flow.feeds import Flow, open_flow
from tests.waiting import until

MATCH = "5f0c7a52-3c0e-4a83-9a3b-0d1f6b8e0{:03x}"


@pytest.fixture(params=["embedded", "apache"])
def kafka_settings(request: pytest.FixtureRequest, redis_url: str, database_url: str) -> Settings:
    """Each broker in turn."""
    embedded = request.param == "embedded"
    return Settings(
        kafka_bootstrap=request.getfixturevalue("kafka_bootstrap" if embedded else "apache_kafka_bootstrap"),
        topic=request.getfixturevalue("topic" if embedded else "apache_topic"),
        redis_url=redis_url,
        database_url=database_url,
        consumer_groups=False,
    )


@pytest.fixture
async def flow(kafka_settings: Settings) -> AsyncIterator[Flow]:
    async with open_flow(kafka_settings) as flow:
        yield flow


async def test_a_result_in_kafka_is_on_the_board_and_in_postgresql_a_moment_later(flow: Flow) -> None:
    season = await flow.season()
    flow.persist()
    await flow.opened(flow.ingest(), season)
    await flow.send([flow.record(season, 7, 100), flow.record(season, 8, 250)])
    await flow.on_board(season, {7: 100, 8: 250})
    await flow.stored(season, 2)
    assert flow.metric("results_total", role="ingest", outcome="new_record") == 2
    assert flow.metric("results_total", role="persist", outcome="new") == 2


async def test_bad_records_block_nobody_and_are_kept_with_their_reasons_b3_b4(flow: Flow) -> None:
    season = await flow.season()
    flow.persist()
    await flow.opened(flow.ingest(), season)
    bad: list[tuple[bytes | None, bytes | None, bytes]] = [
        (b"7", b'{"bad', b"not_json"),
        (b"7", b"\xff\xfe", b"not_utf8"),
        (b"7", b'{"score":"12"}', b"missing_field"),
        (b"7", b'{"score":1e400}', b"missing_field"),
        (b"7", b'{"player":null}', b"missing_field"),
        (b"7", b"", b"empty_value"),
        (b"7", None, b"no_value"),
        (b"7", b"x" * 900_000, b"value_too_long"),
        (b"8", flow.record(season, 7, 5000)[1], b"wrong_key"),
    ]
    await flow.send([flow.record(season, 7, 100)])
    await flow.send([(key, value) for key, value, _ in bad])
    await flow.send([flow.record(season, 7, 300)])
    await flow.on_board(season, {7: 300})
    rejected = await flow.rejected(len(bad))
    assert {(each.key, each.value, each.headers["reason"]) for each in rejected} == set(bad)
    assert {each.headers["topic"].decode() for each in rejected} == {flow.settings.topic}
    places = {(int(each.headers["partition"]), int(each.headers["offset"])) for each in rejected}
    assert len(places) == len(bad)
    assert all(each.headers["detail"] for each in rejected)
    for role in ("ingest", "persist"):
        await until(partial(flow.metric, "refused_total", role=role, reason="empty_value"))
        assert flow.metric("refused_total", role=role, reason="empty_value") == 1
    await flow.stored(season, 2)


async def test_a_record_without_key_and_value_is_set_aside_too_b4(flow: Flow) -> None:
    season = await flow.season()
    flow.persist()
    await flow.opened(flow.ingest(), season)
    await flow.send([(None, None), (None, b"")])
    await flow.send([flow.record(season, 7, 300)])
    await flow.on_board(season, {7: 300})
    rejected = await flow.rejected(2)
    assert {(each.key, each.value) for each in rejected} == {(None, None), (None, b"")}


async def test_of_a_match_sent_again_with_other_points_the_first_counts_everywhere_f11(flow: Flow) -> None:
    season = await flow.season(make_season("sum"))
    flow.persist()
    await flow.opened(flow.ingest(), season)
    first = flow.record(season, 7, 100, match=MATCH.format(1))
    higher, lower = (flow.record(season, 7, points, match=MATCH.format(1)) for points in (900, 5))
    other = flow.record(season, 7, 20, match=MATCH.format(2))
    await flow.send([first, higher, lower, first, other])
    await flow.on_board(season, {7: 120})
    await flow.stored(season, 2)
    assert await flow.totals(season) == {7: 120}
    await flow.rebuild_board(season)
    await flow.send([higher, flow.record(season, 8, 1)])
    await flow.on_board(season, {7: 120, 8: 1})


async def test_seasons_share_a_partition_and_not_their_results(flow: Flow) -> None:
    best = await flow.season(make_season("best", season_id=1))
    total = await flow.season(make_season("sum", season_id=2))
    flow.persist()
    await flow.opened(flow.ingest(), best, total)
    await flow.send([flow.record(season, 7, 10) for season in (best, total) for _ in range(3)])
    await flow.on_board(best, {7: 10})
    await flow.on_board(total, {7: 30})


async def test_every_partition_of_a_board_moves_without_any_results(flow: Flow) -> None:
    season = await flow.season()
    await flow.season(make_season(season_id=99))
    flow.persist()
    await flow.opened(flow.ingest(), season)
    await flow.send([flow.record(season, 7, 100)])
    await flow.on_board(season, {7: 100})

    moved: set[object] = set()

    async def moves_on() -> bool:
        moved.add(await flow.redis.hget(BoardKeys(99).meta, "moved"))
        return len(moved) >= 3

    await until(moves_on)
    applied = await flow.boards.applied(99)
    assert applied is not None
    assert set(applied.offsets) == {0, 1, 2, 3}


async def test_a_season_made_while_its_results_come_has_on_its_board_what_postgresql_has(flow: Flow) -> None:
    known, late = await flow.season(), make_season("sum", season_id=77)
    persist, ingest = flow.persist(), flow.ingest()
    await flow.opened(ingest, known)
    sending = [
        flow.send([flow.record(late, player, 1), flow.record(known, 7, player)]) for player in range(200)
    ]
    for index, send in enumerate(sending):
        await send
        if index == 100:
            await flow.archive.create_season(late)
    await flow.opened(ingest, late)
    assert (await persist.drained(), await ingest.drained()) == (0, 0)
    assert await flow.points(late) == await flow.totals(late)
    refused = flow.metric("refused_total", role="persist", reason="unknown_season")
    assert refused + await flow.count(late) == 200


async def test_old_results_are_told_from_retries_by_postgresql_alone_a13(flow: Flow) -> None:
    season = await flow.season(make_season("sum"))
    flow.persist()
    await flow.opened(flow.ingest(), season)
    day_old = flow.record(season, 7, 100, ago_s=20 * 3600, match=MATCH.format(1))
    await flow.send([day_old])
    await flow.on_board(season, {7: 100})
    await settle(flow.redis, season)
    markers = await flow.redis.keys(BoardKeys(season.season_id).every_dedup)
    await flow.redis.delete(*markers)
    await flow.send([day_old, flow.record(season, 8, 1)])
    await flow.on_board(season, {7: 100, 8: 1})
    assert flow.metric("results_total", role="ingest", outcome="duplicate") == 1


async def test_everything_acknowledged_is_drained_before_a_stop(flow: Flow) -> None:
    season = await flow.season(make_season("sum"))
    persist, ingest = flow.persist(), flow.ingest()
    await flow.opened(ingest, season)
    await flow.send([flow.record(season, player % 50, 1) for player in range(3000)])
    assert (await ingest.drained(20), await persist.drained(20)) == (0, 0)
    assert sum((await flow.points(season)).values()) == 3000
    assert await flow.count(season) == 3000
    await flow.stop(ingest)
    await flow.stop(persist)
    assert ingest.problem == "ingest has stopped"
