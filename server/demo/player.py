"""The demo: 150 years of football results, played through Kafka as if they happened now.

Owns season 1, its names, the pace, and where to go on: at the first result that PostgreSQL does not have. So
a new process goes on whatever the broker forgot, a result that was lost on its way is played again, and one
that was not is a repeat like any other, which changes nothing. Never touches a row of a board: to begin anew
it has the season emptied, as `rankcast season reset` does.
Neighbours: `history.py` has the results, `tempo.py` the pace, `web/routes/demo.py` the buttons.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar

import structlog
from redis.exceptions import RedisError

from server.archive.errors import SeasonDiffers
from server.archive.store import Archive
from server.board.rebuilds import RebuildRefused
from server.board.store import BoardStore
from server.core.results import Result, result_value
from server.demo.history import (
    SEASON_ID,
    Match,
    MatchDay,
    best_match,
    load_names,
    load_results,
    load_season,
    match_days,
)
from server.demo.tempo import Tempo
from server.errors import RankcastError
from server.feed.producer import ResultProducer
from server.logs import Trouble
from server.settings import Settings

log = structlog.get_logger(__name__)

STEP_S = 0.05
RETRY_S = 1.0
SETTLE_S = 10.0  # how long results that are under way may take before the season is emptied
LOOK_S = 0.1
_ASKED_AT_ONCE = 5_000
_NO_LOG, _NO_PARTITION = 0, -1  # a row read anywhere is a row

T = TypeVar("T")
SaveNames = Callable[[dict[int, str]], Awaitable[None]]
Phase = Literal["starting", "playing", "paused", "finished", "restarting", "left_out"]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the demo is; days in Unix microseconds, None before anything was read or played."""

    phase: Phase
    speed: float
    day_us: int | None = None
    first_us: int | None = None
    last_us: int | None = None
    match_day: int = 0
    match_days: int = 0
    results: int = 0
    of: int = 0
    match: Match | None = None


class Demo:
    """Plays the season from where it stands to its end, and then rests until it is asked to begin anew."""

    def __init__(
        self,
        settings: Settings,
        archive: Archive,
        boards: BoardStore,
        producer: ResultProducer,
        save_names: SaveNames,
    ) -> None:
        self._archive, self._boards, self._producer = archive, boards, producer
        self._save_names = save_names
        self._tempo = Tempo(settings.demo_speed)
        self._results: list[Result] = []
        self._days: list[MatchDay] = []
        self._next = 0  # the match day that is played next
        self._match: Match | None = None
        self._phase: Phase = "starting"
        self._begin_anew = False
        self._asked = asyncio.Event()

    # -- what the page sees and does

    @property
    def board(self) -> str | None:
        """The board that it plays on; None where season 1 is somebody else's."""
        return None if self._phase == "left_out" else f"s{SEASON_ID}"

    def standing(self) -> Standing:
        """Where the demo is now."""
        if not self._days:
            return Standing(self._phase, self._tempo.speed)
        played = self._days[self._next - 1] if self._next else None
        return Standing(
            self._shown_phase(),
            self._tempo.speed,
            played.us if played else None,
            self._days[0].us,
            self._days[-1].us,
            self._next,
            len(self._days),
            played.end if played else 0,
            len(self._results),
            self._match,
        )

    def _shown_phase(self) -> Phase:
        if self._begin_anew and self._phase != "left_out":
            return "restarting"
        return "paused" if self._phase == "playing" and self._tempo.paused else self._phase

    def set_speed(self, speed: float) -> None:
        """Play so many times as fast as a match day each quarter of a second, from now on."""
        self._tempo.speed = speed
        self._asked.set()

    def pause(self, paused: bool) -> None:
        """Hold the demo, or let it go on."""
        self._tempo.paused = paused
        self._asked.set()

    def restart(self) -> None:
        """Empty the season and play it from its first day; those who follow the board see it happen."""
        self._begin_anew = True
        self._tempo.paused = False
        self._asked.set()

    # -- playing

    async def run(self, stop: asyncio.Event) -> None:
        """Play until `stop` is set; faults of PostgreSQL, Redis and Kafka are waited out."""
        playing = asyncio.create_task(self._play())
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((playing, stopping), return_when=asyncio.FIRST_COMPLETED)
            if playing.done():
                playing.result()
            await stopping
        finally:
            for task in (playing, stopping):
                task.cancel()
            with suppress(asyncio.CancelledError):
                await playing

    async def _play(self) -> None:
        self._results = await asyncio.to_thread(load_results)
        self._days = match_days(self._results)
        try:
            await _patiently(lambda: self._archive.create_season(load_season(time.time_ns() // 1_000)))
        except SeasonDiffers as error:
            self._phase = "left_out"
            log.warning("demo_left_out", season=SEASON_ID, reason=error.reason)
            return
        await _patiently(lambda: self._save_names(load_names()))
        first = await _patiently(self._first_missing)
        self._next = sum(day.end <= first for day in self._days)
        log.info("demo_plays", season=SEASON_ID, start=first, of=len(self._results), speed=self._tempo.speed)
        while True:
            await self._play_to_the_end()
            await self._start_over()

    async def _first_missing(self) -> int:
        """The place of the first result that PostgreSQL does not have; their number when it has all."""
        for start in range(0, len(self._results), _ASKED_AT_ONCE):
            stored = await self._stored(start, start + _ASKED_AT_ONCE)
            if False in stored:
                return start + stored.index(False)
        return len(self._results)

    async def _stored(self, start: int, end: int) -> list[bool]:
        """Whether PostgreSQL has each of these results."""
        asked = [(it.match_id, it.player_id, 0) for it in self._results[start:end]]
        return (await self._archive.ask(_NO_LOG, _NO_PARTITION, SEASON_ID, asked)).elsewhere

    async def _play_to_the_end(self) -> None:
        """Send match days as they become due; returns when the demo is to begin anew."""
        self._phase = "playing"
        self._tempo.rest()
        loop = asyncio.get_running_loop()
        while not self._begin_anew:
            await self._send(self._days[self._next : self._next + self._tempo.due(loop.time())])
            if self._next == len(self._days):
                self._finish()
            await self._wait(None if self._shown_phase() != "playing" else STEP_S)

    def _finish(self) -> None:
        if self._phase == "playing":
            self._phase = "finished"
            log.info("demo_finished", season=SEASON_ID, results=len(self._results))

    async def _wait(self, seconds: float | None) -> None:
        """Wait for so long (None: for ever), or until somebody asks for something."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._asked.wait(), seconds)
        self._asked.clear()

    async def _send(self, days: list[MatchDay]) -> None:
        if not days:
            return
        played = self._results[days[0].start : days[-1].end]
        records = [(b"%d" % it.player_id, result_value(it)) for it in played]
        await _patiently(partial(self._producer.send, records))
        self._next += len(days)
        self._match = best_match(self._results[days[-1].start : days[-1].end])

    # -- beginning anew

    async def _start_over(self) -> None:
        """Empty the season: what is under way arrives first, so that nothing of the old run comes later."""
        self._phase = "restarting"
        log.info(
            "demo_restarts", season=SEASON_ID, played=self._days[self._next - 1].end if self._next else 0
        )
        try:
            async with asyncio.timeout(SETTLE_S):
                await _patiently(self._settled)
        except TimeoutError:  # a result that comes late is counted early, once
            log.warning("demo_restarts_unsettled", season=SEASON_ID, after_s=SETTLE_S)
        await _patiently(partial(self._archive.reset_season, SEASON_ID))
        await _patiently(partial(self._boards.rebuilds.remove_board, SEASON_ID))
        self._next, self._match = 0, None
        await _patiently(lambda: _until(self._board_is_there))
        self._begin_anew = False

    async def _settled(self) -> None:
        """Return when PostgreSQL has all that was sent, and the board has read as far."""
        await _until(self._all_stored)
        await _until(self._board_has_caught_up)

    async def _all_stored(self) -> bool:
        end = self._days[self._next - 1].end if self._next else 0
        return end == 0 or all(await self._stored(max(0, end - _ASKED_AT_ONCE), end))

    async def _board_has_caught_up(self) -> bool:
        log_number = await self._archive.current_log()
        offsets = await self._archive.next_offsets(log_number) if log_number is not None else {}
        applied = await self._boards.applied(SEASON_ID)
        if applied is None or applied.log != log_number:
            return False
        return all(applied.offsets.get(partition, 0) >= offset for partition, offset in offsets.items())

    async def _board_is_there(self) -> bool:
        return await self._boards.applied(SEASON_ID) is not None


async def _until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Return once it is so; other processes make it so."""
    while not await condition():  # noqa: ASYNC110  no event comes from another process
        await asyncio.sleep(LOOK_S)


async def _patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Do the work, again and again while a service says that trying again helps."""
    trouble = Trouble(log)
    while True:
        try:
            return await work()
        except RankcastError as error:
            if not error.kind.retry:
                raise
            trouble.warn("demo_waits", error.code, code=error.code, reason=error.reason)
        except (RebuildRefused, RedisError, OSError) as error:
            trouble.warn("demo_waits", type(error), code=type(error).__name__, reason=str(error))
        await asyncio.sleep(RETRY_S)
