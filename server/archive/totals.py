"""Players' totals in PostgreSQL: the board as SQL has it, in its order, or streamed for a rebuild.

Owns: the queries and SQL's order, which is the board's. Never does: hold more than a chunk.
Neighbours: `store.py` calls these within a transaction; `keeper/rebuild.py` reads the stream.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import NamedTuple

from server.archive.database import Connection
from server.archive.errors import passing_faults_named
from server.archive.logs import current_log, next_offsets


class Total(NamedTuple):
    """A player's place on the board: points, and the start of the tick in microseconds since the epoch."""

    player_id: int
    points: int
    achieved_us: int


_TOTAL = "player_id, points, achieved_at"


@dataclass(frozen=True, slots=True)
class TotalsSnapshot:
    """A season's totals and persist's offsets at one moment; good within the `async with` that gave it.

    `log` is the log that persist read then (None: none yet), `offsets` its partition → next offset: the
    totals hold every record below them and none above. `resets`: how often the season had been reset.
    """

    log: int | None
    offsets: dict[int, int]
    season_id: int
    _connection: Connection
    resets: int = 0

    async def chunks(self, size: int = 5000) -> AsyncIterator[list[Total]]:
        """Give all totals, `size` at a time, in no order."""
        query = f"SELECT {_TOTAL} FROM player_totals_s{self.season_id:d}"  # noqa: S608  a constant and a number
        with passing_faults_named():
            cursor = await self._connection.cursor(query)
        while True:
            with passing_faults_named():
                rows = await cursor.fetch(size)
            if not rows:
                return
            yield [Total._make(row.values()) for row in rows]


async def snapshot_totals(connection: Connection, season_id: int) -> TotalsSnapshot:
    """Begin to read a season in a repeatable-read transaction; it must have asked for nothing yet.

    The lock comes before the snapshot: a reset that commits in between would show an empty table with old
    offsets.
    """
    await connection.execute(f"LOCK TABLE player_totals_s{season_id:d} IN ACCESS SHARE MODE")
    log = await current_log(connection)
    offsets = {} if log is None else await next_offsets(connection, log)
    resets: int = await connection.fetchval("SELECT resets FROM seasons WHERE season_id = $1", season_id)
    return TotalsSnapshot(log, offsets, season_id, connection, resets)


async def top(connection: Connection, season_id: int, limit: int) -> list[Total]:
    """Return the first `limit` players in the board's order."""
    rows = await connection.fetch(
        f"SELECT {_TOTAL} FROM player_totals_s{season_id:d} "  # noqa: S608  a constant and a number
        'ORDER BY points DESC, achieved_at, player_id::text COLLATE "C" DESC LIMIT $1',
        limit,
    )
    return [Total._make(row.values()) for row in rows]


async def count(connection: Connection, season_id: int) -> int:
    """Return how many players the season has."""
    players: int = await connection.fetchval(f"SELECT count(*) FROM player_totals_s{season_id:d}")  # noqa: S608  a number
    return players
