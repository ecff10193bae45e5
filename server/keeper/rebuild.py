"""One board made anew from PostgreSQL beside the live one, brought up to date from the log, and swapped in.

Owns the order of the steps, and starting over when Redis lost what was loaded. A lost Redis, a new log and a
new season are the same job. Never decides that a rebuild is due: `keeper.py` and the command line do.
Neighbours: `archive` gives the totals and the offsets they were read at, `board/rebuilds.py` keeps the keys,
`feed/catch_up.py` brings what the log has beyond.
"""

import asyncio
import contextlib
import time
from dataclasses import dataclass

import structlog
from aiokafka.errors import KafkaError
from redis.exceptions import RedisError

from server.archive.catalog import SeasonCatalog
from server.archive.store import Archive
from server.board.keys import BoardKeys
from server.board.position import Applied, new_epoch
from server.board.rebuilds import RebuildLost, RebuildRefused
from server.board.store import BoardStore
from server.core.season import Season
from server.errors import RankcastError
from server.feed.catch_up import BoardLost, CatchUp
from server.feed.identity import BrokerAway, TopicMissing, read_identity
from server.keeper.progress import OnProgress, Progress, Track
from server.metrics import Metrics
from server.settings import Settings

log = structlog.get_logger(__name__)

ATTEMPTS = 5
LOG_EVERY_S = 2.0
CHUNKS_A_READ = 10  # a read of PostgreSQL is worth more rows than one call of Redis may take
FREE_ROUNDS = 2
LEAST_HOLD_S, MOST_HOLD_S = 0.5, 30.0
PATIENCE_S, AGAIN_S = 300.0, 0.5  # with a Kafka that cannot be read: what was loaded is worth a wait


class LogNotCurrent(RuntimeError):  # noqa: N818  reads as the sentence it is
    """PostgreSQL has not begun to read the log that the topic is now; once persist runs, it will."""


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """What a rebuild did: players loaded, how long it took, and how often it had to start over."""

    season_id: int
    players: int
    seconds: float
    started_over: int


class Rebuilder:
    """Rebuilds boards; any number of them at once, of different seasons."""

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

    async def rebuild(self, season_id: int, on_progress: OnProgress = lambda _: None) -> RebuildReport:
        """Rebuild the season's board; viewers see the old one until the new one takes its place.

        Raises RankcastError for an unknown season, RebuildRefused where somebody else works on this board,
        LogNotCurrent before persist reads the topic's log, and what Redis, PostgreSQL and Kafka raise when
        they are away. Whatever happens, nothing but the live board stays behind; another try begins anew.
        """
        season = await self._archive.season(season_id)  # as of now: how often it was reset counts
        if season is None:
            raise RankcastError("unknown_season", f"there is no season {season_id}; create it first")
        outcome = "failed"
        try:
            async with self._boards.rebuilds.lock(season_id, new_epoch()):
                await self._boards.rebuilds.drop_left_over(season_id)
                if (await self._boards.standings([season_id]))[0].is_outdated(season):
                    await self._boards.rebuilds.empty_board(
                        season_id
                    )  # its markers name results that are gone
                report = await self._until_it_holds(season, on_progress)
            outcome = "done"
        except RebuildRefused:
            outcome = "refused"
            raise
        finally:
            self._metrics.rebuilds.labels(outcome).inc()
        return report

    async def _until_it_holds(self, season: Season, on_progress: OnProgress) -> RebuildReport:
        began = time.monotonic()
        for started_over in range(ATTEMPTS):
            keys = BoardKeys(season.season_id, new_epoch())
            track = Track(season.season_id, 0, time.monotonic(), self._logged(on_progress))
            try:
                await self._once(season, keys, track)
            except (RebuildLost, BoardLost) as error:
                log.warning("rebuild_starts_over", board=season.board, reason=str(error))
                continue
            finally:
                with contextlib.suppress(RedisError):  # the next rebuild removes what is left
                    await self._boards.rebuilds.drop(keys)
            report = RebuildReport(
                season.season_id, track.players, time.monotonic() - began, started_over=started_over
            )
            log.info(
                "board_rebuilt", board=season.board, players=report.players, seconds=round(report.seconds, 3)
            )
            return report
        raise RebuildLost(
            f"season {season.season_id}: what was loaded got lost {ATTEMPTS} times; look at Redis"
        )

    async def _once(self, season: Season, keys: BoardKeys, track: Track) -> None:
        await self._boards.rebuilds.begin(keys, season)
        applied = await self._load(season, keys, track)
        await self._catch_up_and_swap(season, keys, applied.log, track)
        track.tell("done", time.monotonic())

    async def _load(self, season: Season, keys: BoardKeys, track: Track) -> Applied:
        """Load the season's totals; return the position in the log that they were read at."""
        encode, chunk, number, latest_us = season.codec.encode, self._settings.rebuild_chunk, 0, 0
        track.of = await self._archive.count(season.season_id)
        async with self._archive.totals(season.season_id) as snapshot:
            read_at = Applied(await self._current(snapshot.log), snapshot.offsets)
            async for totals in snapshot.chunks(chunk * CHUNKS_A_READ):
                latest_us = max(latest_us, max(total.achieved_us for total in totals) + season.tick_us)
                for first in range(0, len(totals), chunk):
                    part = totals[first : first + chunk]
                    scores = [(encode(total.points, total.achieved_us), total.player_id) for total in part]
                    await self._boards.rebuilds.load(keys, number, scores)
                    number += 1
                    track.tell("load", time.monotonic(), loaded=len(part))
        await self._boards.rebuilds.finish(
            keys, number, read_at, latest_s=-(-latest_us // 1_000_000), resets=snapshot.resets
        )
        return read_at

    async def _current(self, number: int | None) -> int:
        """The log that PostgreSQL reads, if the topic is that log now; without Kafka there is no knowing."""
        if number is None:
            raise LogNotCurrent("PostgreSQL has not read any log yet; let persist run")
        if self._settings.kafka_bootstrap is None:
            return number
        try:
            identity = await read_identity(self._settings.kafka_bootstrap, self._settings.topic)
        except (BrokerAway, TopicMissing) as error:
            log.info("rebuild_without_kafka", reason=str(error))
            return number
        current = await self._archive.log_number(identity)
        if current != number:
            raise LogNotCurrent(f"PostgreSQL reads log {number}, the topic is log {current}; let persist run")
        return number

    async def _catch_up_and_swap(self, season: Season, keys: BoardKeys, number: int, track: Track) -> None:
        """Swap; where the live board has read further, go after it and try again.

        A live board that is not reached in some rounds, since ingest reads a long backlog as fast as we do,
        is held for moments, each a little longer than the last round took.
        """
        rounds, hold_s, started = 0, 0.0, time.monotonic()
        async with contextlib.AsyncExitStack() as stack:
            catch_up: CatchUp | None = None
            while not await self._boards.rebuilds.swap(keys, hold_s=hold_s):
                live = await self._boards.applied(season.season_id)
                if live is None or live.log != number:
                    continue  # it was removed in this very moment
                began, rounds = time.monotonic(), rounds + 1
                track.tell("catch_up", began)
                try:
                    if catch_up is None:
                        catch_up = await stack.enter_async_context(self._catch_up(season, keys, number))
                    await catch_up.reach(live.offsets)
                except (KafkaError, BrokerAway) as error:
                    if began - started > PATIENCE_S:
                        raise
                    log.warning("rebuild_waits", board=season.board, reason=str(error))
                    await stack.aclose()
                    catch_up, rounds = None, 0
                    await asyncio.sleep(AGAIN_S)
                if rounds >= FREE_ROUNDS:
                    hold_s = min(2 * (time.monotonic() - began) + LEAST_HOLD_S, MOST_HOLD_S)

    def _catch_up(self, season: Season, keys: BoardKeys, number: int) -> CatchUp:
        return CatchUp(
            self._settings,
            self._metrics,
            self._archive,
            self._catalog,
            self._boards,
            season=season,
            keys=keys,
            log_number=number,
        )

    def _logged(self, on_progress: OnProgress) -> OnProgress:
        """The same, with a log line every two seconds."""
        said = time.monotonic()

        def tell(progress: Progress) -> None:
            nonlocal said
            on_progress(progress)
            if time.monotonic() - said >= LOG_EVERY_S:
                said = time.monotonic()
                left = None if progress.left_s is None else round(progress.left_s)
                log.info(
                    "rebuild_progress",
                    board=f"s{progress.season_id}",
                    step=progress.step,
                    players=progress.players,
                    of=progress.of,
                    per_second=round(progress.per_second),
                    seconds_left=left,
                )

        return tell
