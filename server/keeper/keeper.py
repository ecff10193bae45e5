"""The role `keeper`: looks at every board once a second and rebuilds those that cannot go on.

Owns when a rebuild is due: there is no board, it is of another log than PostgreSQL reads, or it was reported
lost. So a lost Redis, a new log and a new season need nobody to do anything. Never rebuilds (`rebuild.py`).
Neighbours: `BoardStore.report_lost` is how ingest and persist, in whichever process, ask.
"""

import asyncio
import time

import structlog
from aiokafka.errors import KafkaError
from redis.exceptions import RedisError

from server.archive.catalog import SeasonCatalog
from server.archive.errors import ArchiveUnavailable
from server.archive.store import Archive
from server.board.rebuilds import RebuildLost, RebuildRefused
from server.board.store import BoardStore, Standing
from server.core.season import Season
from server.feed.backoff import wait_or_stop
from server.feed.identity import BrokerAway, TopicMissing
from server.feed.reader import LogChanged
from server.keeper.rebuild import LogNotCurrent, Rebuilder
from server.metrics import Metrics
from server.settings import Settings

log = structlog.get_logger(__name__)

AT_ONCE = 2  # each holds a connection of PostgreSQL's pool while it loads
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0

PASSING = (
    RedisError,
    OSError,
    KafkaError,
    ArchiveUnavailable,
    BrokerAway,
    LogChanged,
    LogNotCurrent,
    RebuildLost,
    TopicMissing,
)


def why_rebuild(season: Season, standing: Standing, log_number: int | None, now_us: int) -> str | None:
    """Why the season's board cannot go on, or None. `log_number` is the log that PostgreSQL reads."""
    if standing.lost:
        return "it was reported lost"
    if standing.applied is None:
        return "there is no board"
    if standing.is_outdated(season):
        return f"it is from before reset {season.resets} of the season"
    open_still = now_us < season.ends_us + season.grace_us
    if open_still and log_number is not None and standing.applied.log != log_number:
        return f"it is of log {standing.applied.log}, PostgreSQL reads log {log_number}"
    return None


class Keeper:
    """Watches over all boards; faults that pass are tried again with longer and longer waits."""

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics,
        archive: Archive,
        boards: BoardStore,
        catalog: SeasonCatalog,
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._archive = archive
        self._boards = boards
        self._catalog = catalog
        self._rebuilder = Rebuilder(settings, metrics, archive, boards, catalog)
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self._running: dict[int, asyncio.Task[None]] = {}
        self._waits: dict[int, tuple[float, float]] = {}  # season → length of its last wait, when it ends
        self._problems: dict[str, str] = {}

    @property
    def problem(self) -> str | None:
        """What keeps boards from being rebuilt, in a sentence; None while all is well."""
        return "; ".join(f"{board}: {reason}" for board, reason in sorted(self._problems.items())) or None

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set; a rebuild under way is then given up and leaves nothing behind."""
        async with asyncio.TaskGroup() as group:
            while not stop.is_set():
                await self._look(group)
                await wait_or_stop(stop, self._settings.keeper_every_s)
            for rebuilding in self._running.values():
                rebuilding.cancel()

    async def _look(self, group: asyncio.TaskGroup) -> None:
        """Start what is due."""
        try:
            seasons = await self._catalog.all()
            log_number = await self._archive.current_log()
            standings = await self._boards.standings([season.season_id for season in seasons])
        except (RedisError, OSError, ArchiveUnavailable) as error:
            self._failed("boards", error)
            return
        self._problems.pop("boards", None)
        for season, standing in zip(seasons, standings, strict=True):
            reason = why_rebuild(season, standing, log_number, time.time_ns() // 1000)
            if reason is None:
                self._problems.pop(season.board, None)
            elif self._may_start(season.season_id):
                self._running[season.season_id] = group.create_task(self._rebuild(season, reason))

    def _may_start(self, season_id: int) -> bool:
        _, ends = self._waits.get(season_id, (0.0, 0.0))
        return season_id not in self._running and time.monotonic() >= ends

    async def _rebuild(self, season: Season, reason: str) -> None:
        try:
            async with self._at_once:
                log.info("rebuild_due", board=season.board, reason=reason)
                await self._rebuilder.rebuild(season.season_id)
            self._waits.pop(season.season_id, None)
        except RebuildRefused as error:
            log.debug("rebuild_refused", board=season.board, reason=str(error))  # another keeper is at it
        except PASSING as error:
            last, _ = self._waits.get(season.season_id, (FIRST_WAIT_S / 2, 0.0))
            wait = min(last * 2, LONGEST_WAIT_S)
            self._waits[season.season_id] = wait, time.monotonic() + wait
            self._failed(season.board, error)
        finally:
            del self._running[season.season_id]

    def _failed(self, what: str, error: Exception) -> None:
        """Count the fault, and say it once where it stays the same."""
        self._metrics.retries.labels("keeper", type(error).__name__).inc()
        reason = str(error) or type(error).__name__
        if self._problems.get(what) != reason:
            # persist reads the log in a moment; where it never does, the part is not ready and that is told
            tell = log.info if isinstance(error, LogNotCurrent) else log.warning
            tell("rebuild_waits", board=what, reason=reason)
        self._problems[what] = reason
