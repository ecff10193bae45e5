"""The one class that speaks SQL: PostgreSQL as the rest of Rankcast sees it.

Owns: which queries make one transaction. Each method is one, committed when it returns; all raise
`ArchiveUnavailable` where PostgreSQL is away, and then nothing is known of what was asked.
Never does: retry (its callers do, with back-off), check results, or know Redis and Kafka.
Neighbours: `feed/persist.py` stores, `feed/ingest.py` asks, `keeper` reads totals, `web` and `cli` seasons
and names.
"""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import groupby

from server.archive import audits, cut, logs, migrate, names, results, seasons, totals
from server.archive.audits import AuditRecord, StoredAudit
from server.archive.cut import SeasonCut
from server.archive.database import Database
from server.archive.errors import refusals_named
from server.archive.logs import Evidence, LogRange
from server.archive.results import Answers, Row, StoreReply
from server.archive.totals import Total, TotalsSnapshot
from server.core.log_identity import LogIdentity
from server.core.season import Season
from server.errors import RankcastError
from server.metrics import Metrics
from server.settings import Settings

_NOTHING_KNOWN = Evidence()


class Archive:
    """Results, totals, offsets, seasons and names; see each method for what else it raises."""

    def __init__(self, database: Database, settings: Settings, metrics: Metrics) -> None:
        self._database = database
        self._half_life_us = settings.marker_life_s * 500_000
        self._seconds = metrics.archive_seconds
        self._seasons: dict[int, Season] = {}  # definitions are final: what was read once stays true

    @classmethod
    async def connect(cls, database_url: str, settings: Settings, metrics: Metrics) -> "Archive":
        """Connect; `StartError` where the server will never do."""
        return cls(await Database.connect(database_url, settings), settings, metrics)

    async def close(self) -> None:
        """Close all connections within some seconds."""
        await self._database.close()

    @property
    def idle_connections(self) -> int:
        """Connections of the pool that nobody uses."""
        return self._database.idle

    async def migrate(self) -> list[str]:
        """Bring the schema up to date; return what was applied. `StartError` for a newer schema."""
        steps = migrate.migrations()
        async with self._database.transaction() as connection:
            return await migrate.migrate(connection, steps)

    # -- seasons

    async def season(self, season_id: int) -> Season | None:
        """Return the season of this id, read from PostgreSQL."""
        async with self._database.transaction() as connection:
            return await seasons.read_season(connection, season_id)

    async def seasons(self, season_ids: Collection[int] | None = None) -> list[Season]:
        """Return the seasons of these ids, or all of them, by id, read from PostgreSQL."""
        async with self._database.transaction(readonly=True) as connection:
            return await seasons.read_seasons(connection, season_ids)

    async def create_season(self, season: Season) -> bool:
        """Make a season; False where the same one stands already. `SeasonDiffers` where another one does."""
        async with self._database.transaction() as connection:
            return await seasons.create_season(connection, season)

    async def reset_season(self, season_id: int) -> None:
        """Delete a season's results and totals; records that persist has not read yet count anew."""
        async with self._database.transaction() as connection:
            if not await seasons.reset_season(connection, season_id):
                raise _unknown(season_id)

    async def _definition(self, season_id: int) -> Season:
        season = self._seasons.get(season_id) or await self.season(season_id)
        if season is None:
            raise _unknown(season_id)
        self._seasons[season_id] = season
        return season

    # -- logs and offsets

    async def log_number(self, identity: LogIdentity) -> int:
        """Return the number of a log, the same for ever."""
        async with self._database.transaction() as connection:
            return await logs.log_number(connection, identity)

    async def current_log(self) -> int | None:
        """Return the log that persist reads now, None before its first hold."""
        async with self._database.transaction(readonly=True) as connection:
            return await logs.current_log(connection)

    async def next_offsets(self, log: int) -> dict[int, int]:
        """Return partition → persist's next offset of the log; none of a log that is not the current one."""
        async with self._database.transaction(readonly=True) as connection:
            return await logs.next_offsets(connection, log)

    async def hold(
        self, log: int, partition: int, position_when_new: int, verify: logs.Verify = logs.believed
    ) -> int:
        """Return where persist reads on, `position_when_new` at its first hold; `LogLeft` for a left log.

        Where this log takes another one's place `verify` has the last word: it raises if the topic is not
        this log any more, and nothing is changed.
        """
        async with self._database.transaction() as connection:
            return await logs.hold(connection, log, partition, position_when_new, verify)

    # -- results

    async def store(
        self,
        log: int,
        partition: int,
        start: int,
        end: int,
        rows: Sequence[Row],
        *,
        evidence: Evidence = _NOTHING_KNOWN,
        unknown: Collection[int] = (),
    ) -> StoreReply:
        """Store results, by rising offset, that were read from `start` to before `end`, and move the offset.

        One transaction: rows, totals and offset, or nothing and `Fenced`. Without rows it moves the offset
        alone, with `end` at `start` it only brings evidence of how far persist is. `unknown` are seasons for
        lack of which records of the range were refused: where one stands by now, `SeasonAppeared`. Raises
        `StoreRefused` for rows that will be refused again.
        """
        batches = [
            (await self._definition(season_id), list(batch))
            for season_id, batch in groupby(sorted(rows, key=_season_of), key=_season_of)
        ]
        reply = StoreReply(0, 0, 0, 0)
        with self._seconds.labels("store").time(), refusals_named(of_rows=bool(rows)):
            async with self._database.transaction() as connection:
                if unknown:
                    await seasons.must_be_unknown(connection, unknown)
                await logs.move_offset(connection, LogRange(log, partition, start, end), evidence)
                for season, batch in batches:
                    stored = await results.store_season(connection, season, (log, partition), batch)
                    reply = StoreReply._make(map(sum, zip(reply, stored, strict=True)))
        return reply

    async def ask(
        self, log: int, partition: int, season_id: int, records: Sequence[tuple[str, int, int]]
    ) -> Answers:
        """Answer for (match id, player id, offset) of each record of a partition of the log."""
        with self._seconds.labels("ask").time():
            async with self._database.transaction(readonly=True) as connection:
                return await results.ask(connection, season_id, (log, partition), self._half_life_us, records)

    # -- totals

    @asynccontextmanager
    async def totals(self, season_id: int) -> AsyncIterator[TotalsSnapshot]:
        """Hold a season's totals and persist's offsets of one moment, to be read within the `async with`."""
        await self._definition(season_id)
        async with self._database.snapshot() as connection:
            yield await totals.snapshot_totals(connection, season_id)

    @asynccontextmanager
    async def cut(self, season_id: int) -> AsyncIterator[SeasonCut]:
        """Hold a season's rows, totals and persist's offsets of one moment, within the `async with`."""
        season = await self._definition(season_id)
        async with self._database.snapshot() as connection:
            yield await cut.snapshot_season(connection, season)

    async def mend_totals(self, season_id: int, players: Sequence[int]) -> int:
        """Compute these players' totals from their rows anew; return how many were wrong."""
        season = await self._definition(season_id)
        async with self._database.transaction() as connection:
            return await cut.mend_totals(connection, season, players)

    async def top(self, season_id: int, limit: int) -> list[Total]:
        """Return the first `limit` players in the board's order."""
        await self._definition(season_id)
        async with self._database.transaction(readonly=True) as connection:
            return await totals.top(connection, season_id, limit)

    async def count(self, season_id: int) -> int:
        """Return how many players the season has."""
        await self._definition(season_id)
        async with self._database.transaction(readonly=True) as connection:
            return await totals.count(connection, season_id)

    # -- audits

    async def save_audit(self, audit: AuditRecord) -> int:
        """Keep what an audit found; return its id."""
        async with self._database.transaction() as connection:
            return await audits.save_audit(connection, audit)

    async def last_audit(self, season_id: int) -> StoredAudit | None:
        """Return the season's newest audit."""
        async with self._database.transaction(readonly=True) as connection:
            return await audits.last_audit(connection, season_id)

    # -- names

    async def save_names(self, players: Mapping[int, str]) -> list[int]:
        """Save players' names; return the ids of those whose name is new or another one now."""
        async with self._database.transaction() as connection:
            return await names.save_names(connection, players)

    async def names(self, players: Iterable[int]) -> dict[int, str]:
        """Return player id → name of those of the players who have one."""
        async with self._database.transaction(readonly=True) as connection:
            return await names.read_names(connection, players)

    async def find_names(self, beginning: str, limit: int) -> dict[int, str]:
        """Return player id → name of the first `limit` players whose name begins so, by name and id."""
        with self._seconds.labels("find_names").time():
            async with self._database.transaction(readonly=True) as connection:
                return await names.find_names(connection, beginning, limit)


def _season_of(row: Row) -> int:
    return row[1].season_id


def _unknown(season_id: int) -> RankcastError:
    return RankcastError("unknown_season", f"there is no season {season_id}; create it first")
