"""Seasons in PostgreSQL, each with a partition of results and one of totals that are made with it.

Owns: the queries. Never does: decide whether a definition is valid (`core/season.py`), or open connections.
Neighbours: `store.py` calls these within a transaction.
"""

from collections.abc import Collection

from server.archive.database import Connection, Record
from server.archive.errors import SeasonAppeared, SeasonDiffers
from server.core.season import Season

_LOCKS = 7_265_111  # with the season's id: the making of one season

_COLUMNS = (
    "season_id, name, starts_at, ends_at, operator, points_bits, time_bits, "
    "tick_us, time_zone, counts_from, grace_us"
)


async def read_season(connection: Connection, season_id: int) -> Season | None:
    """Return the season of this id."""
    row = await connection.fetchrow(f"SELECT {_COLUMNS}, resets FROM seasons WHERE season_id = $1", season_id)  # noqa: S608  a constant
    return None if row is None else _season(row)


async def read_seasons(connection: Connection, season_ids: Collection[int] | None) -> list[Season]:
    """Return the seasons of these ids, or all of them, by id."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS}, resets FROM seasons "  # noqa: S608  a constant
        "WHERE $1::int[] IS NULL OR season_id = ANY($1) ORDER BY season_id",
        season_ids,
    )
    return [_season(row) for row in rows]


def _season(row: Record) -> Season:
    return Season(
        season_id=row["season_id"],
        name=row["name"],
        starts_us=row["starts_at"],
        ends_us=row["ends_at"],
        operator=row["operator"],
        points_bits=row["points_bits"],
        time_bits=row["time_bits"],
        tick_us=row["tick_us"],
        time_zone=row["time_zone"],
        counts_from_us=row["counts_from"],
        grace_us=row["grace_us"],
        resets=row["resets"],
    )


async def create_season(connection: Connection, season: Season) -> bool:
    """Make a season and its partitions; False where it stands already, `SeasonDiffers` where another does."""
    await connection.execute("SELECT pg_advisory_xact_lock($1, $2)", _LOCKS, season.season_id)
    standing = await read_season(connection, season.season_id)
    if standing is not None:
        differences = standing.differences(season)
        if differences:
            raise SeasonDiffers(season.season_id, differences)
        return False
    await connection.execute(
        f"INSERT INTO seasons ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",  # noqa: S608  a constant
        season.season_id,
        season.name,
        season.starts_us,
        season.ends_us,
        season.operator,
        season.points_bits,
        season.time_bits,
        season.tick_us,
        season.time_zone,
        season.counts_from_us,
        season.grace_us,
    )
    for table in ("match_results", "player_totals"):
        await _make_partition(connection, table, season.season_id)
    return True


async def must_be_unknown(connection: Connection, season_ids: Collection[int]) -> None:
    """Raise `SeasonAppeared` where one of the seasons stands; none is made before the transaction ends.

    A season's board begins where PostgreSQL stands when the season is there. Were its records refused by a
    transaction that commits later than that, the board would count what PostgreSQL does not have.
    """
    await connection.execute("LOCK TABLE seasons IN SHARE MODE")
    standing = await read_seasons(connection, season_ids)
    if standing:
        raise SeasonAppeared([season.season_id for season in standing])


async def _make_partition(connection: Connection, table: str, season_id: int) -> None:
    """Make a season's partition beside the table and attach it, which stops neither readers nor writers."""
    partition = f"{table}_s{season_id:d}"
    # totals are rewritten in place: room on the page spares the index
    room = " WITH (fillfactor = 80)" if table == "player_totals" else ""
    await connection.execute(f"CREATE TABLE {partition} (LIKE {table} INCLUDING ALL){room}")
    await connection.execute(
        f"ALTER TABLE {table} ATTACH PARTITION {partition} FOR VALUES IN ({season_id:d})"
    )


async def reset_season(connection: Connection, season_id: int) -> bool:
    """Delete a season's results, totals and audits, its definition stays; False where there is none."""
    if await read_season(connection, season_id) is None:
        return False
    await connection.execute(f"TRUNCATE match_results_s{season_id:d}, player_totals_s{season_id:d}")
    await connection.execute("DELETE FROM audits WHERE season_id = $1", season_id)
    await connection.execute("UPDATE seasons SET resets = resets + 1 WHERE season_id = $1", season_id)
    return True
