"""Players found by the beginning of their names: the one read that PostgreSQL answers.

Owns how many searches run at once and how many wait, so that a flood of them leaves PostgreSQL to the rest of
the process. Never knows a rank: `routes/players.py` adds it from the mirror.
"""

import asyncio

from server.archive.store import Archive
from server.errors import RankcastError
from server.metrics import Metrics
from server.settings import Settings, variable


class NameSearch:
    """One process's searches."""

    def __init__(self, archive: Archive, settings: Settings, metrics: Metrics) -> None:
        self._archive = archive
        self._most = settings.max_searches
        self._running = 0
        metrics.searches.set_function(lambda: self._running)
        self._turn = asyncio.Semaphore(settings.searches_at_once)

    async def find(self, beginning: str, limit: int) -> dict[int, str]:
        """Player id → name, by name; RankcastError `too_many_requests`, `not_ready`."""
        if self._running >= self._most:
            raise RankcastError(
                "too_many_requests",
                f"{self._running} searches are under way, at most {self._most} are taken "
                f"({variable('max_searches')}); try again in a moment",
            )
        self._running += 1
        try:
            async with self._turn:
                return await self._archive.find_names(beginning, limit)
        finally:
            self._running -= 1
