"""Results in PostgreSQL: each stored once, its player's total moved with it, and asked about by ingest.

Owns: the queries. A batch is one statement a season: rows go in unless their (match, player) is there (of a
repetition within the batch the first counts), and exactly those that went in move totals. Totals hold what
the board shows: the start of the tick, and for `sum` at most the season's maximum. Results only ever add,
so that is the same in any order of delivery.
Never does: check a result (`core/results.py` has). Neighbours: `store.py` calls these within a transaction.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from server.archive.database import Connection
from server.core.results import Result
from server.core.season import Season


class StoreReply(NamedTuple):
    """What a batch did: rows that were new, rows that were there already, totals that moved.

    `at_maximum` counts the totals of operator `sum` that this batch left at the season's maximum.
    """

    new: int
    repeated: int
    changed_totals: int
    at_maximum: int


class Answers(NamedTuple):
    """PostgreSQL's word on a batch of ingest, all read in one snapshot.

    `sql_next`: persist's next offset of this log and partition, -1 where it reads another log or does not
    hold the partition. `behind`: it may miss records that were in the log half a marker's life ago.
    `elsewhere`: per result, whether there is a row of its (match, player) that was read at another
    position.
    """

    sql_next: int
    behind: bool
    elsewhere: list[bool]


Row = tuple[int, Result]
"""An offset, and the result that was read there."""

# $1-$5 the rows; $6 season, $7 log, $8 partition, $9 tick, $10 the season's start, $11 its maximum
_NEW = """
WITH new AS (
    INSERT INTO match_results_s{season} AS r
        (match_id, player_id, season_id, points, achieved_at, log_id, log_partition, log_offset)
    SELECT match_id, player_id, $6::int, points, achieved_at, $7::int, $8::int, log_offset
    FROM unnest($1::uuid[], $2::bigint[], $3::int[], $4::timestamptz[], $5::bigint[])
        AS b (match_id, player_id, points, achieved_at, log_offset)
    ON CONFLICT DO NOTHING
    RETURNING player_id, points, date_bin($9::interval, achieved_at, $10::timestamptz) AS tick_at
), moved AS (
    INSERT INTO player_totals_s{season} AS t (season_id, player_id, points, achieved_at)
    {totals}
    RETURNING points
)
SELECT (SELECT count(*) FROM new), count(*), count(*) FILTER (WHERE points = $11::bigint) FROM moved"""

_BEST = """
    SELECT DISTINCT ON (player_id) $6::int, player_id, points, tick_at
    FROM new ORDER BY player_id, points DESC, tick_at
    ON CONFLICT (season_id, player_id) DO UPDATE
    SET points = excluded.points, achieved_at = excluded.achieved_at
    WHERE excluded.points > t.points
        OR (excluded.points = t.points AND excluded.achieved_at < t.achieved_at)"""

_SUM = """
    SELECT $6::int, player_id, least(sum(points), $11), coalesce(max(tick_at) FILTER (WHERE points > 0), $10)
    FROM new GROUP BY player_id ORDER BY player_id
    ON CONFLICT (season_id, player_id) DO UPDATE
    SET points = least(t.points + excluded.points, $11),
        achieved_at = greatest(t.achieved_at, excluded.achieved_at)
    WHERE excluded.points > 0"""


async def store_season(
    connection: Connection, season: Season, source: tuple[int, int], rows: Sequence[Row]
) -> StoreReply:
    """Store the rows of one season, by rising offset, and move its totals; `source` is log and partition."""
    query = _NEW.format(season=season.season_id, totals=_BEST if season.operator == "best" else _SUM)
    new, changed, at_maximum = await connection.fetchrow(  # type: ignore[misc]  # a SELECT without FROM has a row
        query,
        [result.match_id for _, result in rows],
        [result.player_id for _, result in rows],
        [result.points for _, result in rows],
        [result.achieved_us for _, result in rows],
        [offset for offset, _ in rows],
        season.season_id,
        *source,
        timedelta(microseconds=season.tick_us),
        season.starts_us,
        season.codec.max_points,
    )
    return StoreReply(new, len(rows) - new, changed, at_maximum if season.operator == "sum" else 0)


# The row of each result is looked up by key, one by one: a join might read the whole table.
_ASK = """
SELECT
    coalesce((SELECT next_offset FROM persist_offsets WHERE log_id = $1 AND log_partition = $2), -1),
    coalesce((SELECT complete_to < clock_timestamp() - $3::interval
        FROM persist_offsets WHERE log_id = $1 AND log_partition = $2), true),
    array(SELECT coalesce((
            SELECT (r.log_id, r.log_partition, r.log_offset) <> ($1, $2, b.log_offset)
            FROM match_results_s{season} r
            WHERE r.match_id = b.match_id AND r.player_id = b.player_id AND r.season_id = $4::int), false)
        FROM unnest($5::uuid[], $6::bigint[], $7::bigint[])
            WITH ORDINALITY AS b (match_id, player_id, log_offset, position)
        ORDER BY position)"""


async def ask(
    connection: Connection,
    season_id: int,
    source: tuple[int, int],
    half_life_us: int,
    results: Sequence[tuple[str, int, int]],
) -> Answers:
    """Answer for (match id, player id, offset) of each result, in order; `source` is log and partition."""
    sql_next, behind, elsewhere = await connection.fetchrow(  # type: ignore[misc]  # a SELECT without FROM has a row
        _ASK.format(season=season_id),
        *source,
        timedelta(microseconds=half_life_us),
        season_id,
        [match_id for match_id, _, _ in results],
        [player_id for _, player_id, _ in results],
        [offset for _, _, offset in results],
    )
    return Answers(sql_next, behind, elsewhere)
