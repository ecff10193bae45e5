"""The truth: what SQL makes of the rows of `match_results`, and the other pictures that have to equal it."""

from collections.abc import Mapping
from dataclasses import dataclass

import asyncpg
from redis.asyncio import Redis

from server.board.connection import connect
from server.board.keys import BoardKeys
from server.board.position import text
from server.core.codec import score_from_wire
from server.core.results import Result
from server.core.rows import Row
from server.core.season import Season
from tests.faults.feeder import Key, key_of

Board = list[tuple[int, int]]  # (player, score) from rank 1 on

_TICK = "floor((extract(epoch FROM achieved_at) * 1000000 - $2::bigint) / $3::bigint)::bigint"
# Written from the design's section 5, not from the code that keeps player_totals.
_ROWS = {
    "best": f"""
        SELECT DISTINCT ON (player_id) player_id, points::bigint AS points, {_TICK} AS tick
        FROM match_results WHERE season_id = $1 ORDER BY player_id, points DESC, {_TICK}""",
    "sum": f"""
        SELECT player_id, least(sum(points), $4::bigint) AS points,
               coalesce(max({_TICK}) FILTER (WHERE points > 0), 0) AS tick
        FROM match_results WHERE season_id = $1 GROUP BY player_id""",
}
_ORDERED = 'SELECT * FROM ({rows}) AS board ORDER BY points DESC, tick, player_id::text COLLATE "C" DESC'
_TOTALS = f"SELECT player_id, points, {_TICK} AS tick FROM player_totals WHERE season_id = $1"


@dataclass(frozen=True)
class Truth:
    """PostgreSQL at one moment, and how far persist has read there."""

    boards: dict[int, Board]  # by season, from match_results
    totals: dict[int, Board]  # by season, from player_totals
    results: dict[Key, tuple[int, int]]  # points and achieved_us of each row
    log: int | None
    offsets: dict[int, int]  # partition → persist's next offset


async def read_truth(database_url: str, seasons: list[Season]) -> Truth:
    """Read all of it in one repeatable-read transaction."""
    connection = await asyncpg.connect(database_url, timeout=10)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            boards = {season.season_id: await _board(connection, season, "rows") for season in seasons}
            totals = {season.season_id: await _board(connection, season, "totals") for season in seasons}
            rows = await connection.fetch(
                "SELECT match_id, player_id, season_id, points, "
                "(extract(epoch FROM achieved_at) * 1000000)::bigint AS at FROM match_results"
            )
            offsets = await connection.fetch("SELECT * FROM persist_offsets")
    finally:
        await connection.close()
    results = {(str(row[0]), row[1], row[2]): (row[3], row[4]) for row in rows}
    log = offsets[0]["log_id"] if offsets else None
    return Truth(boards, totals, results, log, {row["log_partition"]: row["next_offset"] for row in offsets})


async def _board(connection: "asyncpg.Connection[asyncpg.Record]", season: Season, of: str) -> Board:
    values: list[int] = [season.season_id, season.starts_us, season.tick_us]
    rows = _TOTALS if of == "totals" else _ROWS[season.operator]
    if of == "rows" and season.operator == "sum":
        values.append(season.codec.max_points)
    found = await connection.fetch(_ORDERED.format(rows=rows), *values)
    codec, start, tick = season.codec, season.starts_us, season.tick_us
    return [(row[0], codec.encode(int(row[1]), start + row[2] * tick)) for row in found]


@dataclass(frozen=True)
class Live:
    """A board in Redis at one moment."""

    epoch: str | None
    version: int
    applied: dict[str, str]
    board: Board

    def rows(self, season: Season, limit: int) -> list[Row]:
        """The top as viewers see it."""
        return [Row(player, *season.codec.decode(score)) for player, score in self.board[:limit]]


async def read_live(redis_url: str, season: Season) -> Live:
    """Read all of a board in one transaction."""
    keys = BoardKeys(season.season_id)
    redis: Redis
    async with connect(redis_url) as redis, redis.pipeline(transaction=True) as pipe:
        pipe.hmget(keys.meta, ["epoch", "version"])
        pipe.hgetall(keys.applied)
        pipe.zrevrange(keys.zset, 0, -1, withscores=True)
        (epoch, version), applied, members = await pipe.execute()
    return Live(
        None if epoch is None else text(epoch),
        int(version or 0),
        {text(name): text(value) for name, value in applied.items()},
        [(int(member), score_from_wire(score)) for member, score in members],
    )


def is_drained(truth: Truth, live: Live, last: list[Key]) -> bool:
    """Whether both sides have read the log to its end, of which `last` are the last records."""
    if truth.log is None or not all(key in truth.results for key in last):
        return False
    offsets = {str(partition): str(offset) for partition, offset in truth.offsets.items()}
    return live.applied == {**offsets, "log": str(truth.log)}


def assert_same_board(name: str, shown: Board, sql: Board) -> None:
    """Fail with the first differences."""
    if shown == sql:
        return
    have, want = dict(shown), dict(sql)
    differ = [player for player in have.keys() | want.keys() if have.get(player) != want.get(player)]
    first = {player: (have.get(player), want.get(player)) for player in differ[:5]}
    raise AssertionError(
        f"{name}: {len(differ)} of {len(want)} players differ from SQL (have, SQL): {first or 'in order'}"
    )


def assert_each_once(truth: Truth, acknowledged: Mapping[Key, Result], sent: Mapping[Key, Result]) -> None:
    """Fail unless PostgreSQL has what was acknowledged, nothing never sent, and each as it was sent first."""
    lost = acknowledged.keys() - truth.results.keys()
    assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged results are lost: {list(lost)[:3]}"
    strange = truth.results.keys() - sent.keys()
    assert not strange, f"{len(strange)} results were never sent: {list(strange)[:3]}"
    others = [
        key_of(sent[key])
        for key, stored in truth.results.items()
        if stored != (sent[key].points, sent[key].achieved_us)
    ]
    assert not others, f"{len(others)} results are not those that came first: {others[:3]}"
