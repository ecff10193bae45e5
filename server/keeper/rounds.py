"""Reconcile and audit by the clock: one board at a time, for as long as the keeper runs.

Owns when a round is due: reconcile soon after the start and then every so often, an audit when the last one
that PostgreSQL knows (whoever made it) is old enough. What cannot be compared now is tried again after a
while; no fault of a service, and none of the comparison itself, ends this.
Never compares: `reconcile.py` and `audit.py` do.
Neighbours: `web/parts.py` runs it beside the keeper; its metrics tell of audits by the command line, too.
"""

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from server.archive.audits import StoredAudit
from server.archive.errors import ArchiveUnavailable
from server.archive.store import Archive
from server.board.store import BoardStore
from server.core.season import Season
from server.feed.backoff import wait_or_stop
from server.keeper.audit import Auditor
from server.keeper.board_cut import NoBoard
from server.keeper.exact import CutImpossible
from server.keeper.reconcile import Reconciler
from server.metrics import Metrics
from server.settings import Settings

log = structlog.get_logger(__name__)

LOOK_S = 30.0
AGAIN_S = 60.0  # after a round that could not be
PASSING = (RedisError, OSError, ArchiveUnavailable, NoBoard, CutImpossible)


class Rounds:
    """The clock of one keeper."""

    def __init__(
        self, settings: Settings, metrics: Metrics, archive: Archive, boards: BoardStore, redis: Redis
    ) -> None:
        self._settings, self._metrics = settings, metrics
        self._archive, self._boards = archive, boards
        self._reconciler = Reconciler(settings, metrics, archive, boards, redis)
        self._auditor = Auditor(settings, metrics, archive, boards, redis)
        self._look_s = min([LOOK_S, *filter(None, (settings.reconcile_every_s, settings.audit_every_s))])
        self._not_before: dict[tuple[str, int], float] = {}  # work and season → monotonic seconds

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set; a round under way is then given up."""
        if not (self._settings.reconcile_every_s or self._settings.audit_every_s):
            await stop.wait()
        while True:
            await wait_or_stop(stop, self._look_s)
            if stop.is_set():
                return
            await self._until_stopped(self._look(), stop)

    async def _until_stopped(self, work: Coroutine[Any, Any, None], stop: asyncio.Event) -> None:
        working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            if not working.done():
                working.cancel()
        with suppress(asyncio.CancelledError):
            await working

    async def _look(self) -> None:
        """Do what is due, board by board."""
        try:
            seasons = await self._comparable()
        except PASSING as error:
            self._failed("boards", error)
            return
        for season in seasons:
            if self._settings.reconcile_every_s and self._is_due("reconcile", season):
                await self._do("reconcile", season, self._reconcile(season))
            if self._settings.audit_every_s and self._is_due("audit", season):
                await self._do("audit", season, self._audit_if_old(season))

    async def _comparable(self) -> list[Season]:
        """Seasons whose boards are of the log that PostgreSQL reads: others are rebuilt, or over."""
        number = await self._archive.current_log()
        seasons = await self._archive.seasons()
        standings = await self._boards.standings([season.season_id for season in seasons])
        return [
            season
            for season, standing in zip(seasons, standings, strict=True)
            if standing.applied is not None and standing.applied.log == number and not standing.lost
        ]

    def _is_due(self, work: str, season: Season) -> bool:
        return time.monotonic() >= self._not_before.get((work, season.season_id), 0.0)

    async def _do(self, work: str, season: Season, doing: Coroutine[Any, Any, float]) -> None:
        """Do it; it tells in how many seconds it is due again."""
        try:
            pause = await doing
        except PASSING as error:
            pause = min(self._settings.reconcile_every_s or AGAIN_S, AGAIN_S)
            self._failed(f"{work} of {season.board}", error)
        except Exception as error:  # a look takes nothing down: the board that it looks at goes on
            pause = min(self._settings.reconcile_every_s or AGAIN_S, AGAIN_S)
            self._metrics.retries.labels("rounds", type(error).__name__).inc()
            log.exception("round_failed", what=work, board=season.board)
        self._not_before[work, season.season_id] = time.monotonic() + pause

    async def _reconcile(self, season: Season) -> float:
        repair, every_s = self._settings.reconcile_repairs, self._settings.reconcile_every_s
        found = await self._reconciler.reconcile(season.season_id, repair=repair, mend_totals=False)
        return min(every_s, AGAIN_S) if repair and found.left else every_s

    async def _audit_if_old(self, season: Season) -> float:
        last = await self._archive.last_audit(season.season_id)
        if last is None or _age_s(last) >= self._settings.audit_every_s:
            await self._auditor.audit(season.season_id)
            last = await self._archive.last_audit(season.season_id)
        if last is not None:
            self._tell(season, last)
        return self._look_s  # somebody else may audit meanwhile

    def _tell(self, season: Season, last: StoredAudit) -> None:
        self._metrics.audit_equal.labels(season.board).set(last.record.equal)
        self._metrics.audit_seconds.labels(season.board).set(last.record.seconds)
        self._metrics.audit_age.labels(season.board).set_function(lambda: _age_s(last))

    def _failed(self, what: str, error: Exception) -> None:
        self._metrics.retries.labels("rounds", type(error).__name__).inc()
        log.warning("round_waits", what=what, reason=str(error) or type(error).__name__)


def _age_s(audit: StoredAudit) -> float:
    return time.time() - audit.finished_us / 1_000_000
