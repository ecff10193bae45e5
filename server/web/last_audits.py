"""The last audit of each season, as PostgreSQL knows it: kept for a moment, since everybody may ask.

Owns how often PostgreSQL is asked: once in two seconds a season, however many do. Never asks Redis.
Neighbours: `routes/audit.py` asks, the keeper and `rankcast audit` write.
"""

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass, field

from server.archive.audits import StoredAudit
from server.archive.store import Archive

EVERY_S = 2.0


@dataclass(slots=True)
class _Kept:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    due: float = 0.0
    audit: StoredAudit | None = None


class LastAudits:
    """Of all seasons; those that do not exist are not asked for."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._kept: defaultdict[int, _Kept] = defaultdict(_Kept)

    async def of(self, season_id: int) -> StoredAudit | None:
        """The last audit of an existing season; RankcastError `not_ready` where PostgreSQL is away."""
        kept = self._kept[season_id]
        async with kept.lock:
            if time.monotonic() >= kept.due:
                kept.audit = await self._archive.last_audit(season_id)
                kept.due = time.monotonic() + EVERY_S
            return kept.audit
