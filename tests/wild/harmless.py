"""Feeding random inputs to a running process, and what has to hold for each and afterwards."""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import asyncpg
import httpx
from redis.asyncio import Redis

from server.board.keys import BoardKeys
from server.core.season import Season
from server.errors import KINDS, Close
from server.feed.producer import ResultProducer
from server.metrics import Metrics
from tests.edge.clients import RawClient, client
from tests.flow.feeds import read_rejected
from tests.waiting import until
from tests.wild.drawn import SEED
from tests.wild.lines import WildPiece
from tests.wild.process import Wild
from tests.wild.records import BEST, WildRecord
from tests.wild.requests import WildRequest

ANSWER_S = 15.0
SILENCE_S = 0.3
ANSWERED_S = 0.004  # in which most pieces are read, so that few come after the end of their line
LINES_AT_ONCE = 16
PIECES_AT_ONCE = 50

T = TypeVar("T")


# -- Kafka


async def records_do_no_harm(wild: Wild, records: Sequence[WildRecord]) -> None:
    """Every record is taken or refused, by both roles alike, and the board is what SQL says."""
    producer = ResultProducer(wild.settings, Metrics())
    sent = 0

    async def send(some: Sequence[WildRecord]) -> None:
        nonlocal sent
        await producer.send([(record.key, record.value) for record in some])
        sent += len(some)
        await until(lambda: _all_handled(wild, sent), within=60)

    try:
        await wild.feed(records, send)
    finally:
        await producer.stop()
    refused = {role: await _refused(wild, role) for role in ("ingest", "persist")}
    assert refused["ingest"] == refused["persist"]
    rejected = await read_rejected(wild.settings, sum(refused["persist"].values()), within=20)
    assert Counter(each.headers["reason"].decode() for each in rejected) == refused["persist"]
    for season in wild.seasons.values():
        assert await _board(wild, season) == await _by_sql(wild, season)


async def _all_handled(wild: Wild, sent: int) -> bool:
    samples = await wild.samples()
    for role in ("ingest", "persist"):
        taken = sum(
            value
            for (name, labels), value in samples.items()
            if name == "rankcast_results_total" and labels[1] == role and labels[0] != "skipped"
        )
        if taken + sum((await _refused(wild, role)).values()) != sent:
            return False
    return True


async def _refused(wild: Wild, role: str) -> Counter[str]:
    return Counter(
        {
            labels[0]: int(value)
            for (name, labels), value in (await wild.samples()).items()
            if name == "rankcast_refused_total" and labels[1] == role
        }
    )


async def _board(wild: Wild, season: Season) -> list[tuple[int, int]]:
    async with Redis.from_url(wild.settings.redis_url or "") as redis:
        rows: list[Any] = await redis.zrevrange(BoardKeys(season.season_id).zset, 0, -1, withscores=True)
    return [(int(player), int(score)) for player, score in rows]


async def _by_sql(wild: Wild, season: Season) -> list[tuple[int, int]]:
    """The board from PostgreSQL's rows alone, computed here."""
    connection = await asyncpg.connect(wild.settings.database_url)
    rows = await connection.fetch(
        "SELECT player_id, points, (extract(epoch FROM achieved_at) * 1000000)::bigint AS us "
        "FROM match_results WHERE season_id = $1",
        season.season_id,
    )
    await connection.close()
    best: dict[int, int] = {}
    points: Counter[int] = Counter()
    latest: dict[int, int] = {}
    for player, more, us in rows:
        best[player] = max(best.get(player, 0), season.codec.encode(more, us))
        points[player] += more
        if more:
            latest[player] = max(latest.get(player, season.starts_us), us)
    if season.operator == "sum":
        best = {
            player: season.codec.encode(
                min(total, season.codec.max_points), latest.get(player, season.starts_us)
            )
            for player, total in points.items()
        }
    return sorted(best.items(), key=lambda row: (row[1], str(row[0]).encode()), reverse=True)


# -- HTTP


async def requests_do_no_harm(wild: Wild, requests: Sequence[WildRequest]) -> None:
    """Each whole request is answered, none with a status of 500 or above."""

    async def send(some: Sequence[WildRequest]) -> None:
        await _by_many(some, lambda one: _request(wild, one))

    await wild.feed(requests, send)


async def _by_many(items: Sequence[T], work: Callable[[T], Awaitable[None]]) -> None:
    """Do the work for each, some at the same time."""
    left = iter(items)

    async def one_after_another() -> None:
        for item in left:
            await work(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(LINES_AT_ONCE):
            group.create_task(one_after_another())


async def _request(wild: Wild, request: WildRequest) -> None:
    told = f"seed {SEED}: {request.data[:600]!r}"
    reader, writer = await asyncio.open_connection("127.0.0.1", wild.port)
    try:
        writer.write(request.data)
        head = await _head(reader, ANSWER_S if request.whole else SILENCE_S)
    except ConnectionError:
        assert not request.whole, told
        return
    finally:
        writer.transport.abort()
    if head is None:
        assert not request.whole, f"no answer to {told}"
        return
    version, status, _ = head.split(b" ", 2)
    assert version == b"HTTP/1.1", told
    assert int(status) < 500, f"{head!r} to {told}"


async def _head(reader: asyncio.StreamReader, within: float) -> bytes | None:
    """The first lines of an answer; None where none came."""
    try:
        async with asyncio.timeout(within):
            return await reader.readuntil(b"\r\n\r\n")
    except TimeoutError:
        return None
    except asyncio.IncompleteReadError:
        return None


# -- WebSocket


async def pieces_do_no_harm(wild: Wild, pieces: Sequence[WildPiece]) -> None:
    """Lines end by codes of the table alone, answers are of the protocol, and a viewer sees all along."""

    async def send(some: Sequence[WildPiece]) -> None:
        shares = [some[first : first + PIECES_AT_ONCE] for first in range(0, len(some), PIECES_AT_ONCE)]
        await _by_many(shares, lambda share: _lines(wild, share))

    async with client(wild.port) as viewer, httpx.AsyncClient(base_url=wild.process.url) as http:
        shown = await viewer.top(limit=100, board=f"s{BEST}")
        await wild.feed(pieces, send)
        answer = await http.post(
            f"/seasons/{BEST}/results",
            json={"match_id": "ffffffff-0000-4000-8000-000000000000", "player_id": 77, "points": 2_097_151}
            | {"achieved_at": "2024-05-01T00:00:00Z"},
            headers={"authorization": f"Bearer {wild.process.environment['RANKCAST_API_KEY']}"},
        )
        assert answer.status_code == 202, answer.text
        await until(lambda: any(row.player == 77 for row in shown.rows))
        viewer.check()
        assert not viewer.of("bye")


async def _lines(wild: Wild, pieces: Sequence[WildPiece]) -> None:
    """Send all, on as many lines as it takes: many a piece ends its line."""
    left = list(pieces)
    while left:
        line = await RawClient.connect(wild.port)
        reading = asyncio.create_task(_read(line))
        sent: list[WildPiece] = []
        try:
            while left and not reading.done():
                sent.append(left.pop(0))
                with contextlib.suppress(ConnectionError):
                    await line.send(sent[-1].data)
                await asyncio.wait({reading}, timeout=ANSWERED_S)
            await asyncio.wait({reading}, timeout=SILENCE_S)
            if reading.done():
                reading.result()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            line.socket.close()
        _check_said(line, f"seed {SEED}: {[piece.data[:200] for piece in sent]!r}")


async def _read(line: RawClient) -> None:
    while await line.read():
        pass


def _check_said(line: RawClient, told: str) -> None:
    """Frames are of the protocol; a close has a code of the table, none, or the one that the client gave."""
    if line.close is not None and line.close.data:
        code = line.close_code
        assert code is not None
        assert code in _CODES or 3000 <= code < 5000, f"{code} to {told}"
    for frame in line.frames:
        assert frame["type"] in _TYPES, f"{frame} to {told}"
        if frame["type"] == "error":
            assert frame["code"] in KINDS.keys() - {"internal"}, f"{frame} to {told}"
        json.dumps(frame, allow_nan=False)


_CODES = frozenset(Close)
_TYPES = frozenset(
    (
        "welcome",
        "ok",
        "error",
        "snapshot",
        "diff",
        "around",
        "rankup",
        "heartbeat",
        "stale",
        "fresh",
        "season",
        "bye",
    )
)
