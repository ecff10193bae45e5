"""The role `persist`: results from Kafka into PostgreSQL, each once, refused records into their topic.

Owns: one session for each log that the topic becomes, readiness, and the wait of an orderly stop.
Neighbours: `follow.py` finds the logs, `persist_session.py` does the work on one of them.
"""

import asyncio

from server.archive.catalog import SeasonCatalog
from server.archive.store import Archive
from server.core.season import Season
from server.feed.drain import drained
from server.feed.follow import Follower
from server.feed.persist_session import ROLE, OnLost, PersistSession
from server.feed.reader import LogReader
from server.feed.rejected import RejectedRecords
from server.metrics import Metrics
from server.settings import Settings


async def _nobody(_season: Season) -> None:
    """Where there is no board, none has to be rebuilt."""


class Persist:
    """Where a partition goes on is PostgreSQL's word alone; what the group committed is a hint for others.

    `on_lost(season)` is told of boards that may have what the log lost before PostgreSQL had it.
    """

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics,
        archive: Archive,
        catalog: SeasonCatalog,
        *,
        on_lost: OnLost = _nobody,
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._archive = archive
        self._catalog = catalog
        self._on_lost = on_lost
        self._follower = Follower(settings, metrics, archive, role=ROLE, most=settings.persist_batch_max)
        self._session: PersistSession | None = None

    @property
    def problem(self) -> str | None:
        """What keeps results from PostgreSQL, in a sentence; None while all is well."""
        return self._follower.problem or (self._session.problem if self._session is not None else None)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set: then finish the batch in hand and leave the group."""
        await self._follower.run(self._serve, stop)

    async def drained(self, within: float = 10.0) -> int:
        """Wait until all that Kafka has acknowledged by now is in PostgreSQL; return the records left.

        At most `within` seconds; -1: it is not known, since no log could be read.
        """
        return await drained(lambda: self._session, within)

    async def _serve(self, reader: LogReader, log_number: int, stop: asyncio.Event) -> None:
        rejected = RejectedRecords(self._settings, self._metrics)
        self._session = PersistSession(
            self._settings,
            self._metrics,
            self._archive,
            self._catalog,
            reader,
            rejected=rejected,
            log_number=log_number,
            on_lost=self._on_lost,
        )
        try:
            await self._session.run(stop)
        finally:
            session, self._session = self._session, None
            await session.close()
            await rejected.stop()
