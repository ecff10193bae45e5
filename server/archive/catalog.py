"""The seasons that a process knows, so that no record waits for PostgreSQL but the first of a new season.

Owns: when PostgreSQL is asked: for an unknown id at most once a second, for all seasons once a second by
the clock.
Never does: forget a season or see a definition change, which is final.
Neighbours: `feed` resolves the ids of a batch before it parses the batch, `web` and `keeper` list seasons.
"""

import asyncio
from collections.abc import Callable, Collection

import structlog

from server.archive.errors import ArchiveUnavailable
from server.archive.store import Archive
from server.core.season import Season

REFRESH_S = 1.0
_MOST_UNKNOWN = 10_000

log = structlog.get_logger(__name__)


class SeasonCatalog:
    """Seasons by id. `clock` gives monotonic seconds. Methods that may ask raise `ArchiveUnavailable`."""

    def __init__(self, archive: Archive, clock: Callable[[], float]) -> None:
        self._archive = archive
        self._clock = clock
        self._known: dict[int, Season] = {}
        self._unknown: dict[int, float] = {}  # id → when PostgreSQL did not know it
        self._refreshed = -REFRESH_S
        self._asking = (
            asyncio.Lock()
        )  # whoever comes meanwhile waits for the answer, and does not refuse for lack of it

    def peek(self, season_id: int) -> Season | None:
        """Return the season if it is known already."""
        return self._known.get(season_id)

    async def get(self, season_id: int) -> Season | None:
        """Return the season; an unknown id is looked up, at most once a second."""
        return (await self.resolve((season_id,))).get(season_id)

    async def resolve(self, season_ids: Collection[int]) -> dict[int, Season]:
        """Return the seasons of these ids, unknown ones looked up in one query, at most once a second each.

        All records of one range of the log have to be judged by one answer: were a season found in the
        middle of it, the call that covers the range would pass over earlier records that were refused.
        """
        if any(season_id not in self._known for season_id in season_ids):
            async with self._asking:
                await self._look_up(season_ids)
        return {season_id: self._known[season_id] for season_id in season_ids if season_id in self._known}

    async def _look_up(self, season_ids: Collection[int]) -> None:
        now = self._clock()
        due = [
            season_id
            for season_id in season_ids
            if season_id not in self._known and now - self._unknown.get(season_id, -REFRESH_S) >= REFRESH_S
        ]
        if not due:
            return
        found = await self._archive.seasons(due)
        self._known |= {season.season_id: season for season in found}
        if len(self._unknown) > _MOST_UNKNOWN:
            self._unknown = {key: at for key, at in self._unknown.items() if now - at < REFRESH_S}
        self._unknown |= dict.fromkeys(due, now)

    async def all(self) -> list[Season]:
        """Return all seasons by id, at most a second old."""
        if self._clock() - self._refreshed >= REFRESH_S:
            await self.refresh()
        return [self._known[season_id] for season_id in sorted(self._known)]

    async def refresh(self) -> None:
        """Read all seasons now."""
        now = self._clock()
        self._known = {season.season_id: season for season in await self._archive.seasons()}
        self._refreshed = now

    async def run(self, stop: asyncio.Event) -> None:
        """Refresh once a second until `stop`; while PostgreSQL is away, what is known stays."""
        away = False
        while not stop.is_set():
            try:
                await self.refresh()
                away = False
            except ArchiveUnavailable as fault:
                if not away:
                    log.warning("seasons_not_refreshed", reason=fault.reason)
                away = True
            try:
                await asyncio.wait_for(stop.wait(), REFRESH_S)
            except TimeoutError:
                continue
