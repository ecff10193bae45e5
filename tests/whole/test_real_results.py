"""149 years of football through the whole of Rankcast: from a file to every place that shows a board.

Each run ends in exactly the same order in Redis, by REST, at a WebSocket client that only ever applied diffs
after its first (empty) snapshot, and by SQL over PostgreSQL; on the embedded broker and on Apache Kafka.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.structs import ConsumerRecord, TopicPartition
from redis.asyncio import Redis

from server.core.codec import score_from_wire
from server.core.refusals import REFUSALS
from server.core.rows import Row
from tests import services
from tests.core import football
from tests.waiting import until
from tests.whole.running import Running, running
from tests.whole.viewer import Viewer, viewing

LIMIT = 1000  # more than there are teams: the whole board
BAD_LINES, REPEATED_LINES, RESULTS = 484, 4943, 99_040
BEST = [
    (player, points, football.season().starts_us // 1000 + day * 86_400_000)
    for _, player, points, day in json.loads((football.FOLDER / "expected_best.json").read_text())["rows"]
]

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(params=["kafka_bootstrap", "apache_kafka_bootstrap"], ids=["embedded", "apache"])
def bootstrap(request: pytest.FixtureRequest) -> str:
    """Each of both brokers; a plain fixture, since the broker is started on a loop of its own."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture
async def rankcast(bootstrap: str, place: Path, redis_url: str, database_url: str) -> AsyncIterator[Running]:
    """A running Rankcast without a season."""
    topic = await services.new_topic(bootstrap)
    async with running(place, redis_url, database_url, bootstrap, topic) as found:
        yield found


async def _season(rankcast: Running, place: Path, operator: str) -> None:
    definition = json.loads((football.FOLDER / "season.json").read_text()) | {"operator": operator}
    file = place / "season.json"
    file.write_text(json.dumps(definition))
    await rankcast.command("season", "create", str(file))


async def _replayed(rankcast: Running, name: str) -> int:
    lines = football.lines(name)
    told = await rankcast.command("replay", str(football.FOLDER / name))
    assert f"{len(lines):,}" in told or str(len(lines)) in told
    return len(lines)


async def _read_by_persist(rankcast: Running, records: int) -> None:
    """Wait until PostgreSQL has passed all that was sent."""
    connection = await asyncpg.connect(rankcast.environment["DATABASE_URL"])
    try:
        query = "SELECT coalesce(sum(next_offset), 0) FROM persist_offsets"
        await until(lambda: _at_least(connection, query, records), within=120, every=0.1)
    finally:
        await connection.close()


async def _at_least(connection: Any, query: str, least: int) -> bool:
    return int(await connection.fetchval(query)) >= least


async def _by_redis(rankcast: Running) -> list[Row]:
    codec = football.season().codec
    async with Redis.from_url(rankcast.environment["REDIS_URL"], decode_responses=True) as client:
        pairs: list[Any] = await client.zrange("lb:{s1872}", 0, -1, desc=True, withscores=True)
    return [Row(int(player), *codec.decode(score_from_wire(score))) for player, score in pairs]


async def _by_rest(rankcast: Running) -> list[Row]:
    async with httpx.AsyncClient(base_url=rankcast.url) as client:
        answer = await client.get("/seasons/1872/leaderboard/top", params={"limit": LIMIT})
    entries = answer.raise_for_status().json()["entries"]
    assert [entry["rank"] for entry in entries] == list(range(1, len(entries) + 1))
    return [Row(entry["playerId"], entry["points"], entry["achievedAt"]) for entry in entries]


async def _by_sql(rankcast: Running, operator: str) -> list[Row]:
    """The order from the rows alone, by a statement of the test's own: no total that the server keeps."""
    each = {
        "best": "SELECT DISTINCT ON (player_id) player_id, points, days FROM results ORDER BY 1, 2 DESC, 3",
        "sum": "SELECT player_id, sum(points)::bigint AS points, "
        "coalesce(max(days) FILTER (WHERE points > 0), 0) AS days FROM results GROUP BY 1",
    }[operator]
    connection = await asyncpg.connect(rankcast.environment["DATABASE_URL"])
    try:
        rows = await connection.fetch(
            "WITH results AS (SELECT player_id, points, floor(extract(epoch FROM achieved_at - "
            "'1872-01-01T00:00:00Z'::timestamptz) / 86400)::bigint AS days FROM match_results "
            f"WHERE season_id = 1872), board AS ({each}) "
            'SELECT player_id, points, days FROM board ORDER BY 2 DESC, 3, player_id::text COLLATE "C" DESC'
        )
    finally:
        await connection.close()
    start = football.season().starts_us // 1000
    return [Row(row["player_id"], row["points"], start + row["days"] * 86_400_000) for row in rows]


async def _everywhere(rankcast: Running, viewer: Viewer, records: int, operator: str) -> list[Row]:
    """Wait until all that was sent has gone through; the one order that all four places tell."""
    await _read_by_persist(rankcast, records)
    by_sql = await _by_sql(rankcast, operator)
    await until(lambda: _same(rankcast, by_sql), within=120, every=0.2)
    await until(lambda: viewer.rows == by_sql, within=10)
    assert await _by_rest(rankcast) == by_sql
    return by_sql


async def _same(rankcast: Running, rows: list[Row]) -> bool:
    return await _by_redis(rankcast) == rows


async def test_clean_results_end_in_the_expected_order_everywhere(rankcast: Running, place: Path) -> None:
    await _season(rankcast, place, "best")
    async with viewing(rankcast.socket_url, "s1872", LIMIT) as viewer:
        records = await _replayed(rankcast, "results.jsonl.gz")
        assert [tuple(row) for row in await _everywhere(rankcast, viewer, records, "best")] == BEST
        assert viewer.snapshots == 1
        assert viewer.diffs > 1


async def test_messy_results_end_in_the_same_order_and_the_bad_lines_aside(
    rankcast: Running, place: Path
) -> None:
    await _season(rankcast, place, "best")
    async with viewing(rankcast.socket_url, "s1872", LIMIT) as viewer:
        records = await _replayed(rankcast, "messy.jsonl.gz")
        assert [tuple(row) for row in await _everywhere(rankcast, viewer, records, "best")] == BEST
        assert viewer.snapshots == 1
    await _bad_lines_are_in_the_rejected_topic(rankcast)
    await _repeated_lines_changed_nothing(rankcast)


async def test_sums_end_in_what_sql_computes(rankcast: Running, place: Path) -> None:
    await _season(rankcast, place, "sum")
    async with viewing(rankcast.socket_url, "s1872", LIMIT) as viewer:
        records = await _replayed(rankcast, "messy.jsonl.gz")
        rows = await _everywhere(rankcast, viewer, records, "sum")
        assert len(rows) == len(BEST)
        assert viewer.snapshots == 1


async def _bad_lines_are_in_the_rejected_topic(rankcast: Running) -> None:
    records = await _rejected(rankcast)
    lines = Counter(football.lines("messy.jsonl.gz"))
    headers = [dict(record.headers) for record in records]
    values = {_source(record): record.value for record in records}  # written twice is one
    assert len(values) == BAD_LINES
    assert {told["reason"].decode() for told in headers} <= REFUSALS.keys()
    assert not Counter(values.values()) - lines


def _source(record: ConsumerRecord) -> tuple[bytes, bytes]:
    told = dict(record.headers)
    return told["partition"], told["offset"]


async def _rejected(rankcast: Running) -> list[ConsumerRecord]:
    topic = rankcast.environment["RANKCAST_TOPIC"] + ".rejected"
    consumer = AIOKafkaConsumer(
        bootstrap_servers=rankcast.environment["KAFKA_BOOTSTRAP_SERVERS"], auto_offset_reset="earliest"
    )
    await consumer.start()
    records: list[ConsumerRecord] = []
    try:
        consumer.assign([TopicPartition(topic, n) for n in consumer.partitions_for_topic(topic) or {0}])

        async def all_there() -> bool:
            for found in (await consumer.getmany(timeout_ms=200)).values():
                records.extend(found)
            return len({_source(record) for record in records}) >= BAD_LINES

        await until(all_there, within=30)
    finally:
        await consumer.stop()
    return records


async def _repeated_lines_changed_nothing(rankcast: Running) -> None:
    connection = await asyncpg.connect(rankcast.environment["DATABASE_URL"])
    try:
        assert await connection.fetchval("SELECT count(*) FROM match_results") == RESULTS
    finally:
        await connection.close()
    assert len(football.lines("messy.jsonl.gz")) - BAD_LINES - REPEATED_LINES == RESULTS
