"""A season as SQL had it when a board had read the log up to some position: all rows but those beyond.

Owns the queries. PostgreSQL's snapshot stands at or beyond the position on every partition; each row says
where it was read, so what lies beyond can be left out, and the rest is exactly what the board should show.
Never does: hold more than some rows, lock out anybody who reads or writes, or know Redis.
Neighbours: `store.py` opens it, `keeper/exact.py` waits until PostgreSQL has read far enough.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from server.archive.audits import StoredAudit, last_audit
from server.archive.binary_copy import CopyRows
from server.archive.database import Connection
from server.archive.errors import passing_faults_named
from server.archive.logs import current_log, next_offsets
from server.core.member_order import Int64s
from server.core.season import Season

COPY_SECONDS = 86_400.0  # a season of billions of rows may take an hour
LOOK_UP_SECONDS = 600.0

Take = Callable[[Int64s], None]


class Ways(NamedTuple):
    """A player three ways: points (-1: not there) and the tick's start in microseconds, of each.

    `board`: what rows below the position make, the board's truth. `rows`: what all rows make. `total`: what
    `player_totals` holds, which has to be the same as `rows`.
    """

    player: int
    board_points: int
    board_at: int
    row_points: int
    row_at: int
    total_points: int
    total_at: int


COLUMNS = len(Ways._fields)

# How one player's results become one row, by operator. `packed` is the greatest for the best result; points
# that a hand has written may not fit, and count as one more than do; times, as the season's first or last.
_BEST = """
SELECT player_id,
    coalesce(max(packed) FILTER (WHERE NOT beyond) / {span}, -1) AS board_points,
    {starts_us} + ({span} - 1 - coalesce(max(packed) FILTER (WHERE NOT beyond), {span} - 1) % {span})
        * {tick_us} AS board_at,
    max(packed) / {span} AS row_points,
    {starts_us} + ({span} - 1 - max(packed) % {span}) * {tick_us} AS row_at
FROM (SELECT player_id, {beyond} AS beyond,
        least(points, {most} + 1) * {span} + {span} - 1
            - least(greatest(({achieved_us} - {starts_us}) / {tick_us}, 0), {ticks}) AS packed
    FROM match_results_s{season}{where}) r
GROUP BY player_id"""

_SUM = """
SELECT player_id,
    least(coalesce(sum(points) FILTER (WHERE NOT beyond), -1), {most}) AS board_points,
    {starts_us} + coalesce(max(tick) FILTER (WHERE points > 0 AND NOT beyond), 0) * {tick_us} AS board_at,
    least(sum(points), {most}) AS row_points,
    {starts_us} + coalesce(max(tick) FILTER (WHERE points > 0), 0) * {tick_us} AS row_at
FROM (SELECT player_id, {beyond} AS beyond, points, ({achieved_us} - {starts_us}) / {tick_us} AS tick
    FROM match_results_s{season}{where}) r
GROUP BY player_id"""

# Logs come one after another: rows of a later one are beyond whatever position of an earlier.
_BEYOND = (
    "(log_id = {log} AND log_offset >= coalesce((ARRAY[{offsets}]::bigint[])[log_partition + 1], 0) OR "
    "log_id = ANY (ARRAY(SELECT later.log_id FROM logs later JOIN logs this ON this.log_id = {log} "
    "WHERE later.current_since > this.current_since)))"
)
_ACHIEVED_US = "(extract(epoch FROM achieved_at) * 1000000)::bigint"

_WAYS = """
SELECT player_id, coalesce(board_points, -1), coalesce(board_at, 0), coalesce(row_points, -1),
    coalesce(row_at, 0), coalesce(points, -1), coalesce({achieved_us}, 0)
FROM ({by_rows}) rows
FULL JOIN (SELECT player_id, points, achieved_at FROM player_totals_s{season}{where}) totals
    USING (player_id)"""

# The board's order, as PostgreSQL itself has it.
_IN_ORDER = ' ORDER BY coalesce(board_points, -1) DESC, board_at, player_id::text COLLATE "C" DESC'


# Every column of a row in one number, and of all rows in one that does not depend on their order.
_ROW = (
    "uuid_hash_extended(match_id, hashint8extended(player_id, hashint8extended(log_offset, "
    "hashint8extended(log_id::bigint << 32 | log_partition, "
    "timestamp_hash_extended(achieved_at AT TIME ZONE 'UTC', points)))))"
)
_ROWS = "SELECT count(*){columns} FROM (SELECT *, {row} AS row FROM match_results_s{season}) r"
_FINGERPRINT = ", count(*) FILTER (WHERE NOT {beyond}), coalesce(bit_xor(row) FILTER (WHERE NOT {beyond}), 0)"


class Fingerprint(NamedTuple):
    """Rows below a position in the log: their number, and a hash that changes with any of them."""

    rows: int
    hash: int


@dataclass(frozen=True, slots=True)
class SeasonCut:
    """A season in one repeatable-read snapshot; good within the `async with` that gave it.

    `log` is the log that persist read then (None: none yet), `offsets` its partition → next offset.
    """

    season: Season
    log: int | None
    offsets: dict[int, int]
    _connection: Connection

    async def totals(self, take: Take) -> None:
        """Hand over all totals of the snapshot, piece by piece: int64[n, 3] of player, points, time (us)."""
        table = f"player_totals_s{self.season.season_id:d}"
        await self._copy(f"SELECT player_id, points, {_ACHIEVED_US} FROM {table}", 3, take)  # noqa: S608  a number

    async def in_order(self, applied: Mapping[int, int], take: Take) -> None:
        """Hand over every player by the order at `applied`, those who were not there last: int64[n, 7].

        The columns are those of `Ways`. Reads every row of the season.
        """
        with passing_faults_named():
            await self._connection.execute("SET LOCAL work_mem = '64MB'")
        await self._copy(self._ways(applied) + _IN_ORDER, COLUMNS, take)

    async def look_up(self, applied: Mapping[int, int], players: Sequence[int]) -> list[Ways]:
        """Return these players three ways, those whom PostgreSQL knows; reads their rows alone."""
        query = self._ways(applied, " WHERE player_id = ANY($1)")
        with passing_faults_named():
            rows = await self._connection.fetch(query, players, timeout=LOOK_UP_SECONDS)
        return [Ways._make(row.values()) for row in rows]

    async def fingerprints(self, *positions: tuple[int, Mapping[int, int]]) -> tuple[int, list[Fingerprint]]:
        """Return how many results the season has, and a fingerprint of those below each (log, offsets)."""
        columns = "".join(_FINGERPRINT.format(beyond=_beyond(*position)) for position in positions)
        query = _ROWS.format(columns=columns, row=_ROW, season=self.season.season_id)
        with passing_faults_named():
            found = await self._connection.fetchrow(query, timeout=COPY_SECONDS)
        assert found is not None
        total, *values = found.values()
        return total, [Fingerprint(*values[at : at + 2]) for at in range(0, len(values), 2)]

    async def last_audit(self) -> StoredAudit | None:
        """Return the season's newest audit of the snapshot."""
        with passing_faults_named():
            return await last_audit(self._connection, self.season.season_id)

    def _ways(self, applied: Mapping[int, int], where: str = "") -> str:
        season = self.season
        values = {
            "season": season.season_id,
            "where": where,
            "span": 1 << season.time_bits,
            "starts_us": season.starts_us,
            "tick_us": season.tick_us,
            "ticks": (season.ends_us - season.starts_us) // season.tick_us,
            "most": f"{season.codec.max_points}::bigint",
            "achieved_us": _ACHIEVED_US,
            "beyond": _beyond(self.log or 0, applied),
        }
        by_rows = (_BEST if season.operator == "best" else _SUM).format_map(values)
        return _WAYS.format_map(values | {"by_rows": by_rows})

    async def _copy(self, query: str, columns: int, take: Take) -> None:
        rows = CopyRows(columns)

        async def output(data: bytes) -> None:
            take(rows.feed(data))
            await asyncio.sleep(0)  # others of the loop have their turn between two pieces

        with passing_faults_named():
            await self._connection.copy_from_query(
                query, output=output, format="binary", timeout=COPY_SECONDS
            )
        rows.end()


def _beyond(log: int, offsets: Mapping[int, int]) -> str:
    """The condition of a row at or beyond a position; partitions that are not named begin there with 0."""
    by_partition = ",".join(str(offsets.get(at, 0)) for at in range(max(offsets, default=-1) + 1))
    return _BEYOND.format(log=log, offsets=by_partition)


async def snapshot_season(connection: Connection, season: Season) -> SeasonCut:
    """Begin to read a season in a repeatable-read transaction; it must have asked for nothing yet.

    The locks come before the snapshot: a reset that commits in between would show empty tables with old
    offsets.
    """
    tables = f"match_results_s{season.season_id:d}, player_totals_s{season.season_id:d}"
    await connection.execute(f"LOCK TABLE {tables} IN ACCESS SHARE MODE")
    log = await current_log(connection)
    offsets = {} if log is None else await next_offsets(connection, log)
    return SeasonCut(season, log, offsets, connection)


async def mend_totals(connection: Connection, season: Season, players: Sequence[int]) -> int:
    """Put the totals of these players right, in one transaction; return how many were wrong.

    Persist moves an offset first of all in its transactions: while that table is locked none is under way,
    and so no row is there that this does not see.
    """
    await connection.execute("LOCK TABLE persist_offsets IN SHARE MODE")
    found = await SeasonCut(season, 0, {}, connection).look_up({}, players)
    wrong = [way for way in found if way[3:5] != way[5:7]]
    table = f"player_totals_s{season.season_id:d}"
    ids = [way.player for way in wrong]
    await connection.execute(f"DELETE FROM {table} WHERE player_id = ANY($1)", ids)  # noqa: S608  a number
    await connection.executemany(
        f"INSERT INTO {table} (season_id, player_id, points, achieved_at) VALUES ($1, $2, $3, $4)",  # noqa: S608  a number
        [(season.season_id, way.player, way.row_points, way.row_at) for way in wrong if way.row_points >= 0],
    )
    return len(wrong)
