"""Players' names in PostgreSQL. Never does: judge a name (`core/names.py` has)."""

from collections.abc import Iterable, Mapping

from server.archive.database import Connection
from server.core.names import after_prefix, search_key

FIND = (
    "SELECT player_id, name FROM players WHERE search_key >= $1 AND search_key < $2 "
    "ORDER BY search_key, player_id LIMIT $3"
)


async def save_names(connection: Connection, names: Mapping[int, str]) -> list[int]:
    """Save the names; return the players whose name is new or another one now, by id."""
    players = sorted(names)  # always in one order, so that two savers never wait for each other
    rows = await connection.fetch(
        "INSERT INTO players AS p (player_id, name, search_key) "
        "SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) "
        "ON CONFLICT (player_id) DO UPDATE SET name = excluded.name, search_key = excluded.search_key "
        "WHERE p.name <> excluded.name OR p.search_key <> excluded.search_key RETURNING player_id",
        players,
        [names[player] for player in players],
        [search_key(names[player]) for player in players],
    )
    return sorted(row["player_id"] for row in rows)


async def read_names(connection: Connection, players: Iterable[int]) -> dict[int, str]:
    """Return player id → name of those who have one."""
    rows = await connection.fetch(
        "SELECT player_id, name FROM players WHERE player_id = ANY($1::bigint[])", list(players)
    )
    return {row["player_id"]: row["name"] for row in rows}


async def find_names(connection: Connection, beginning: str, limit: int) -> dict[int, str]:
    """Return player id → name of the first `limit` players whose name begins so, by name and id."""
    key = search_key(beginning)
    rows = await connection.fetch(FIND, key, after_prefix(key), limit)
    return {row["player_id"]: row["name"] for row in rows}
