"""The role `ingest`: results from Kafka onto the boards in Redis, exactly once.

Owns: one session for each log that the topic becomes, readiness, and the wait of an orderly stop.
Neighbours: `follow.py` finds the logs, `ingest_session.py` does the work on one of them.
"""

import asyncio

from server.archive.catalog import SeasonCatalog
from server.archive.store import Archive
from server.board.store import BoardStore
from server.feed.apply import Applier
from server.feed.board_watch import BoardWatch, OnLost
from server.feed.drain import drained
from server.feed.follow import Follower
from server.feed.ingest_session import ROLE, IngestSession
from server.feed.reader import LogReader
from server.metrics import Metrics
from server.settings import Settings


class Ingest:
    """`on_lost(season)` is told of boards that take nothing until they are rebuilt, every few seconds."""

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics,
        archive: Archive,
        catalog: SeasonCatalog,
        boards: BoardStore,
        *,
        on_lost: OnLost,
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._archive = archive
        self._catalog = catalog
        self._boards = boards
        self._on_lost = on_lost
        self._follower = Follower(settings, metrics, archive, role=ROLE, most=settings.fetch_max_records)
        self._session: IngestSession | None = None

    @property
    def problem(self) -> str | None:
        """What keeps results from the boards, in a sentence; None while all is well."""
        return self._follower.problem or (self._session.problem if self._session is not None else None)

    @property
    def open_boards(self) -> set[int]:
        """Seasons whose boards take results on every partition that this process reads."""
        return set() if self._session is None else self._session.open_boards

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set: then finish the batch in hand, commit and leave the group."""
        await self._follower.run(self._serve, stop)

    async def drained(self, within: float = 10.0) -> int:
        """Wait until all that Kafka has acknowledged by now is on the boards; return the records left.

        At most `within` seconds; -1: it is not known, since no log could be read.
        """
        return await drained(lambda: self._session, within)

    async def _serve(self, reader: LogReader, log_number: int, stop: asyncio.Event) -> None:
        applier = Applier(self._settings, self._metrics, self._archive, self._boards, log_number)
        watch = BoardWatch(
            self._metrics, self._catalog, self._boards, reader, log_number=log_number, on_lost=self._on_lost
        )
        self._session = IngestSession(
            self._settings, self._metrics, self._catalog, reader, applier=applier, watch=watch
        )
        try:
            await self._session.run(stop)
        finally:
            session, self._session = self._session, None
            await session.close()
