"""A replica of one board in this process's memory: what hub and REST read.

Owns the picture (position and order), when gathered changes go into it, merges of its index, and whether it
can be trusted to be the newest one (`stale`). Never reads Redis: its `Follower` does, and tells it what to
show. Neighbours: `follower` feeds it, `core/replica` has the rules, the hub listens, `mirrors` runs it.
"""

import asyncio
import time
from collections.abc import Callable

import structlog

from server.core.board_event import BoardEvent
from server.core.order import OrderedIndex
from server.core.replica import Changes, Replica, Verdict
from server.core.rows import Row
from server.core.season import Season
from server.errors import RankcastError
from server.metrics import Metrics

log = structlog.get_logger(__name__)

_APPLY_SHARE = (
    20  # applying may take a twentieth of the loop's time: where it costs more, changes are gathered
)
_LONGEST_GATHER_S = 0.1


def now_ms() -> int:
    """The wall clock in Unix milliseconds."""
    return time.time_ns() // 1_000_000


class Mirror:
    """One board's picture. Everything here belongs to the event loop.

    `stale` is None, or a word and since when (Unix ms) the picture may lag: loading (nothing was read yet),
    building (there is no board yet: `epoch` is None), lost, gap, replaced, differs, went_back, unreachable,
    unreadable.
    """

    def __init__(self, season: Season, metrics: Metrics, waiting_rows: int) -> None:
        self.board = season.board
        self.season = season
        self.stale: tuple[str, int] | None = ("loading", now_ms())
        self.replica = Replica(waiting_rows)
        self._metrics = metrics
        self._listeners: list[Callable[[], None]] = []
        self._settled = asyncio.Event()
        self._merge_due = asyncio.Event()
        self._next_apply = 0.0
        self._apply_timer: asyncio.TimerHandle | None = None

    # -- what hub and REST read

    @property
    def epoch(self) -> str | None:
        """The epoch of the picture; None: Redis has no such board, nobody is ranked."""
        return self.replica.epoch

    @property
    def version(self) -> int:
        """The version of the picture."""
        return self.replica.version

    @property
    def reason(self) -> str:
        """Why the epoch began: replaced, reset, closed or rolled."""
        return self.replica.reason

    @property
    def index(self) -> OrderedIndex:
        """The order at this version; another object after a reload, and changed by the next version."""
        return self.replica.index

    @property
    def total(self) -> int:
        """The number of ranked players."""
        return self.replica.index.total

    def rows(self, first_rank: int, count: int) -> list[Row]:
        """Return the rows from a rank (1 or more) on, `count` of them or as many as there are."""
        players, scores = self.index.slice(first_rank, count)
        points, achieved = self.season.codec.decode_many(scores)
        return list(map(Row, players.tolist(), points.tolist(), achieved.tolist()))

    def take_changes(self) -> Changes | None:
        """Return who was touched since the last call and what they were then; None: cannot be told."""
        return self.replica.take_changes(self.season.codec)

    def add_listener(self, listener: Callable[[], None]) -> None:
        """Have the listener called, in the event loop, after every change of position, order or staleness."""
        self._listeners.append(listener)

    def remove_listener(self, listener: Callable[[], None]) -> None:
        """Call the listener no more."""
        self._listeners.remove(listener)

    async def ready(self, within_s: float) -> None:
        """Return once it is known whether there is a board, and its picture is here if there is.

        Raises RankcastError `not_ready` after `within_s` seconds.
        """
        try:
            async with asyncio.timeout(within_s):
                await self._settled.wait()
        except TimeoutError:
            reason = f"board {self.board} has not been read after {within_s:g} s; try again"
            raise RankcastError("not_ready", reason) from None

    # -- what the follower tells

    def gather(self, event: BoardEvent) -> Verdict:
        """Take an event; where it is the next one the picture will show it, now or a moment later."""
        verdict = self.replica.offer(event)
        if verdict is Verdict.NEXT:
            self._schedule_apply()
        return verdict

    def drain(self) -> None:
        """Take the events that have waited for others."""
        self.replica.drain()
        if self.replica.gathered:
            self._schedule_apply()

    def install(self, epoch: str, version: int, index: OrderedIndex, reason: str) -> None:
        """Show another picture, and what has been heard after it."""
        self.replica.install(epoch, version, index, reason)
        self._settled.set()
        self.drain()
        self._changed()

    def mark_stale(self, reason: str, since_ms: int | None = None) -> None:
        """Say that the picture may lag, by default from now on; where it lagged already, since then."""
        if self.stale is not None and self.stale[0] == reason:
            return
        since = self.stale[1] if self.stale else since_ms or now_ms()
        self.stale = (reason, since)
        tell = log.warning if self.epoch is not None else log.info  # it is being made, not lost
        tell("mirror_stale", board=self.board, reason=reason, epoch=self.epoch, version=self.version)
        self._changed()

    def mark_fresh(self) -> None:
        """Say that the picture is the newest one."""
        self._settled.set()
        if self.stale is None:
            return
        log.info(
            "mirror_fresh", board=self.board, after=self.stale[0], epoch=self.epoch, version=self.version
        )
        self.stale = None
        self._changed()

    def mark_building(self) -> None:
        """Say that Redis has no such board: an empty picture stands for it."""
        self._settled.set()
        self.mark_stale("building")

    def show_gathered(self) -> None:
        """Put what was gathered into the picture, and tell the listeners."""
        if self._apply_timer is not None:
            self._apply_timer.cancel()
            self._apply_timer = None
        if not self.replica.gathered:
            return
        start = time.perf_counter()
        self.replica.apply()
        taken = time.perf_counter() - start
        self._metrics.mirror_apply_seconds.observe(taken)
        self._next_apply = asyncio.get_running_loop().time() + min(taken * _APPLY_SHARE, _LONGEST_GATHER_S)
        if self.index.merge_is_due():
            self._merge_due.set()
        self._changed()

    def _schedule_apply(self) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() >= self._next_apply:
            self.show_gathered()
        elif self._apply_timer is None:
            self._apply_timer = loop.call_at(self._next_apply, self.show_gathered)

    def _changed(self) -> None:
        gauges = self._metrics
        gauges.mirror_players.labels(board=self.board).set(self.total)
        gauges.mirror_version.labels(board=self.board).set(self.version)
        gauges.mirror_stale.labels(board=self.board).set(self.stale is not None)
        for listener in tuple(self._listeners):
            listener()

    async def merge_when_due(self) -> None:
        """Merge the index in a thread whenever its changes have piled up; runs until cancelled."""
        while True:
            await self._merge_due.wait()
            self._merge_due.clear()
            index = self.index
            if index.merge_is_due():
                merge = index.start_merge()
                with self._metrics.mirror_merge_seconds.time():
                    await asyncio.to_thread(merge.run)
                index.finish_merge(merge)
