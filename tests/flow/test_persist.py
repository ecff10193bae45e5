"""Persist on real services: results once in PostgreSQL, refused records in their topic, offsets in step."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from aiokafka.admin import AIOKafkaAdminClient

from server.archive.errors import ArchiveUnavailable
from server.archive.results import StoreReply
from server.embedded.postgres import Postgres
from server.embedded.tansu import create_topic
from server.feed.partitioner import partition_of
from server.settings import Settings
from tests.flow.boards import make_season
from tests.flow.feeds import Flow, open_flow
from tests.waiting import until

MATCH = "5f0c7a52-3c0e-4a83-9a3b-0d1f6b8e0{:03x}"


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


async def test_repetitions_and_one_bad_row_cost_the_batch_nothing_c2(flow: Flow) -> None:
    season = await flow.season(make_season("sum"))
    persist = flow.persist()
    stored_already = flow.record(season, 7, 1, match=MATCH.format(0))
    await flow.send([stored_already])
    await flow.stored(season, 1)
    batch = [flow.record(season, 7, 1, match=MATCH.format(number)) for number in range(1, 498)]
    bad = (b"7", batch[0][1].replace(b'"points":1', b'"points":"many"'))  # type: ignore[union-attr]  # a value
    await flow.send([*batch[:200], stored_already, bad, batch[0], *batch[200:]])
    assert await persist.drained() == 0
    await flow.stored(season, 498)
    assert await flow.totals(season) == {7: 498}
    assert flow.metric("results_total", role="persist", outcome="repeated") == 2
    (rejected,) = await flow.rejected(1)
    assert (rejected.value, rejected.headers["reason"]) == (bad[1], b"bad_points")


async def test_a_result_that_a_constraint_refuses_holds_its_partition_alone_until_it_is_taken_c2(
    flow: Flow,
) -> None:
    season = await flow.season(make_season("sum"))
    assert flow.settings.database_url is not None
    connection = await asyncpg.connect(flow.settings.database_url)
    await connection.execute("ALTER TABLE match_results ADD CONSTRAINT fair CHECK (points < 1000)")
    players = range(200)
    held = [player for player in players if partition_of(b"%d" % player, 4) == partition_of(b"7", 4)]
    records = [flow.record(season, player, 1000 if player == 7 else 1) for player in players]
    await flow.send([*records, (b"7", b"not json")])
    persist = flow.persist()
    before_it = sum(player < 7 for player in held)
    await flow.stored(season, len(players) - len(held) + before_it)
    await until(lambda: 'violates check constraint "fair"' in (persist.problem or ""))
    assert flow.metric("stuck_partitions") == 1
    await flow.send([flow.record(season, player, 1) for player in players])
    await flow.stored(season, 2 * (len(players) - len(held)) + before_it)
    await connection.execute("ALTER TABLE match_results DROP CONSTRAINT fair")
    await connection.close()
    await flow.stored(season, 2 * len(players))
    await until(lambda: persist.problem is None)
    assert await flow.totals(season) == {player: 1001 if player == 7 else 2 for player in players}
    assert flow.metric("stuck_partitions") == 0
    assert flow.metric("results_total", role="persist", outcome="new") == 2 * len(players)
    assert len({each.headers["offset"] for each in await flow.rejected(1)}) == 1


async def test_every_partition_is_held_from_the_beginning_records_or_none(flow: Flow) -> None:
    flow.persist()
    number = await flow.log_number()

    async def held() -> bool:
        return await flow.archive.next_offsets(number) == {0: 0, 1: 0, 2: 0, 3: 0}

    await until(held)


async def test_offsets_are_those_of_all_records_good_and_bad(flow: Flow) -> None:
    season = await flow.season()
    persist = flow.persist()
    await flow.send([flow.record(season, player, 1) for player in range(50)])
    await flow.send([(b"%d" % player, b"not json") for player in range(50)])
    assert await persist.drained() == 0
    offsets = await flow.archive.next_offsets(await flow.log_number())
    assert sum(offsets.values()) == 100


async def test_while_postgresql_is_away_persist_waits_and_then_loses_nothing(
    embedded_settings: Settings, own_postgres: Postgres
) -> None:
    settings = embedded_settings.model_copy(update={"database_url": own_postgres.database("postgres")})
    async with open_flow(settings) as flow:
        season = await flow.season(make_season("sum"))
        persist = flow.persist()
        await flow.send([flow.record(season, number, 1) for number in range(100)])
        await flow.stored(season, 100)
        own_postgres.kill()
        await flow.send([flow.record(season, number, 1) for number in range(100)])
        await flow.send([(b"7", b"not json")])
        await until(lambda: "PostgreSQL" in (persist.problem or ""))
        await own_postgres.start()
        await flow.stored(season, 200, within=30)
        await until(lambda: persist.problem is None)
        assert await flow.totals(season) == dict.fromkeys(range(100), 2)
        rejected = await flow.rejected(1)
        assert {each.headers["offset"] for each in rejected} == {rejected[0].headers["offset"]}


async def test_two_that_read_the_same_partitions_store_each_result_once(flow: Flow) -> None:
    season = await flow.season(make_season("sum"))
    both = [flow.persist(), flow.persist()]
    for _ in range(20):
        await flow.send([flow.record(season, number, 1) for number in range(100)])
    for persist in both:
        assert await persist.drained(20) == 0
    await flow.stored(season, 2000)
    assert await flow.totals(season) == dict.fromkeys(range(100), 20)


async def test_a_commit_that_came_through_unheard_costs_no_record_of_the_next_ranges(
    flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    season = await flow.season(make_season("sum"))
    stored, losses = flow.archive.store, iter([True])

    async def ten_more() -> None:
        await flow.send([flow.record(season, 1, 1) for _ in range(10)])

    async def lose_one_reply(*range_: Any, **options: Any) -> StoreReply:
        reply = await stored(*range_, **options)
        if reply.new and next(losses, False):
            _, partition, _, end, _ = range_
            await ten_more()
            await until(lambda: persist._session and persist._session._reader.at(partition) == end + 10)
            await ten_more()
            raise ArchiveUnavailable("the connection is gone")
        return reply

    monkeypatch.setattr(flow.archive, "store", lose_one_reply)
    monkeypatch.setattr("server.feed.persist_session.READ_SECONDS", 15.0)  # the next range is read meanwhile
    persist = flow.persist()
    await ten_more()
    await flow.stored(season, 30, within=40)


async def test_a_restart_goes_on_where_postgresql_stands(flow: Flow) -> None:
    season = await flow.season(make_season("sum"))
    for _ in range(5):
        persist = flow.persist()
        await flow.send([flow.record(season, number, 1) for number in range(200)])
        await flow.kill(persist)
    persist = flow.persist()
    assert await persist.drained() == 0
    await flow.stored(season, 1000)
    assert await flow.totals(season) == dict.fromkeys(range(200), 5)
    assert flow.metric("results_total", role="persist", outcome="repeated") == 0


async def test_evidence_of_having_read_everything_comes_without_any_records(
    embedded_settings: Settings,
) -> None:
    settings = embedded_settings.model_copy(update={"marker_life_s": 2})
    async with open_flow(settings) as flow:
        season = await flow.season()
        flow.persist()
        number = await flow.log_number()
        moments: set[object] = set()

        async def complete_to() -> object:
            async with flow.archive._database.transaction() as connection:
                return await connection.fetchval(
                    "SELECT complete_to FROM persist_offsets WHERE log_partition = 2"
                )

        async def moves_on() -> bool:
            moments.add(await complete_to())
            return len(moments) > 4

        await until(moves_on)
        asked = await flow.archive.ask(number, 2, season.season_id, [])
        assert not asked.behind


async def test_a_timestamp_that_no_calendar_has_stops_nobody(flow: Flow) -> None:
    season = await flow.season()
    persist = flow.persist()
    producer = await flow.producer._connected()
    for timestamp_ms in (0, 2**62, 10**15):
        key, value, *_ = flow.record(season, 7, 1)
        batch = producer.create_batch()
        batch.append(timestamp=timestamp_ms, key=key, value=value)
        await (await producer.send_batch(batch, flow.settings.topic, partition=0))
    assert await persist.drained() == 0
    reasons = {each.headers["reason"] for each in await flow.rejected(3)}
    assert reasons == {b"too_early", b"too_late"}


async def test_no_offset_moves_on_before_its_refused_record_is_safe_b8(
    apache_kafka_bootstrap: str, apache_topic: str, redis_url: str, database_url: str
) -> None:
    settings = Settings(
        kafka_bootstrap=apache_kafka_bootstrap,
        topic=apache_topic,
        redis_url=redis_url,
        database_url=database_url,
        consumer_groups=False,
        delivery_timeout_s=1,
    )
    async with open_flow(settings) as flow:
        season = await flow.season()
        admin = AIOKafkaAdminClient(bootstrap_servers=apache_kafka_bootstrap)
        await admin.start()
        try:
            await admin.delete_topics([f"{apache_topic}.rejected"])

            async def gone() -> bool:
                return f"{apache_topic}.rejected" not in await admin.list_topics()

            await until(gone)
        finally:
            await admin.close()
        persist = flow.persist(settings.model_copy(update={"create_topics": False}))
        number = await flow.log_number()
        await flow.send([(b"7", b"not json")])
        await until(lambda: "acknowledge" in (persist.problem or ""))
        assert sum((await flow.archive.next_offsets(number)).values()) == 0
        await create_topic(apache_kafka_bootstrap, f"{apache_topic}.rejected", 1)
        await flow.send([flow.record(season, 7, 100)])
        await flow.stored(season, 1, within=30)
        assert sum((await flow.archive.next_offsets(number)).values()) == 2
        rejected = await flow.rejected(1)
        assert {(each.value, each.headers["offset"]) for each in rejected} == {(b"not json", b"0")}


async def test_what_is_left_is_told_when_a_stop_cannot_wait_any_longer(
    embedded_settings: Settings, own_postgres: Postgres
) -> None:
    settings = embedded_settings.model_copy(update={"database_url": own_postgres.database("postgres")})
    async with open_flow(settings) as flow:
        season = await flow.season(make_season("sum"))
        persist = flow.persist()
        await flow.send([flow.record(season, 7, 1)])
        await flow.stored(season, 1)
        own_postgres.kill()
        await flow.send([flow.record(season, number, 1) for number in range(300)])
        await until(lambda: persist.problem is not None)
        assert 0 < await persist.drained(2.0) <= 300
        await own_postgres.start()
        assert await persist.drained(30) == 0


async def test_a_role_that_reads_nothing_does_not_say_that_nothing_is_left(flow: Flow) -> None:
    persist = flow.persist()
    await flow.stop(persist)
    assert await persist.drained(0.1) == -1


async def test_results_flow_while_seasons_come_and_go_in_any_order(flow: Flow) -> None:
    persist = flow.persist()
    seasons = [make_season("sum", season_id=number) for number in range(1, 6)]
    for season in seasons:
        await flow.send([flow.record(season, 7, 1)])
    assert await persist.drained() == 0
    for season in seasons:
        await flow.season(season)
        await flow.send([flow.record(season, 7, 1)])
    assert await persist.drained() == 0
    counts = await asyncio.gather(*[flow.count(season) for season in seasons])
    assert counts == [1] * 5
