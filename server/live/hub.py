"""All viewers of this process: who is here, what they watch, and the end.

Owns: the viewers, the boards that are watched, joining a view (first frame and membership in one synchronous
step, so that no change falls between), catching up with what a viewer is owed, the orderly stop.
Never does: read Redis or PostgreSQL itself, or know sockets.
Neighbours: `session` and `sse` join viewers, `board` ticks, `sweep` has the deadlines, `web` runs it.
"""

import asyncio
import contextlib
from collections import Counter
from typing import NamedTuple

import structlog

from server.core import frames
from server.core.position import Position
from server.core.topics import Around, Limits, RankUps, Top, Topic
from server.core.wire import Frame
from server.errors import Close, RankcastError
from server.live.board import Board
from server.live.names import Names
from server.live.openings import Openings
from server.live.picture import Pictures
from server.live.sweep import Sweep
from server.live.tally import Tally
from server.live.tokens import Tokens
from server.live.viewer import Viewer
from server.metrics import Metrics
from server.settings import Settings, variable

log = structlog.get_logger(__name__)

_NAMES_WAIT_S = 0.25  # longest wait for the names of a view that nobody has watched before
_ENDS_AT_ONCE = 200


class _StoppedError(Exception):
    """Ends the hub's tasks, those too that began later."""


class Joined(NamedTuple):
    """What a new member gets: whether it resumes, its first frame, and news of a picture that lags."""

    resumed: bool
    frame: Frame | None
    stale: Frame | None


class Hub:
    """The process's viewers and boards. All of it belongs to one event loop."""

    def __init__(self, settings: Settings, metrics: Metrics, pictures: Pictures, names: Names) -> None:
        self.settings, self.metrics, self.names = settings, metrics, names
        self.limits = Limits(settings.max_limit, settings.max_radius)
        secret = settings.token_secret
        self.tokens = None if secret is None else Tokens(secret.get_secret_value())
        self.viewers: set[Viewer] = set()
        self.boards: dict[str, Board] = {}
        self.stopping = False
        self.tally = Tally(metrics)
        self.openings = Openings(self)
        self.welcome = frames.welcome(settings.heartbeat_ms, _told_limits(settings))
        self._pictures = pictures
        self._group: asyncio.TaskGroup | None = None
        self._emptied = asyncio.Event()
        self._addresses: Counter[str] = Counter()

    # -- coming and going

    def require_room(self, address: str) -> None:
        """Refuse a viewer where there are as many as may be, at all or of its address, or at a stop."""
        most, most_here = self.settings.max_connections, self.settings.max_connections_per_address
        if self.stopping:
            raise RankcastError("not_ready", "the server is about to stop; come back in a moment")
        if len(self.viewers) >= most:
            raise RankcastError(
                "too_many_connections",
                f"the server holds {len(self.viewers)} viewers, at most {most} are let in "
                f"({variable('max_connections')}); try another one or come back later",
            )
        if most_here and self._addresses[address] >= most_here:
            raise RankcastError(
                "too_many_connections",
                f"{address} holds {self._addresses[address]} connections, at most {most_here} are let in "
                f"({variable('max_connections_per_address')}); close another one first",
            )

    def enter(self, viewer: Viewer) -> None:
        """A viewer is here."""
        self.viewers.add(viewer)
        if viewer.address:
            self._addresses[viewer.address] += 1
        self.metrics.viewers.labels(kind=viewer.kind).inc()

    def leave(self, viewer: Viewer, code: int) -> None:
        """A viewer is gone, by this close code (1006: without one). Once a viewer: more are ignored."""
        if viewer not in self.viewers:
            return
        self.viewers.discard(viewer)
        self.part_all(viewer)
        if viewer.address:
            self._addresses[viewer.address] -= 1
            if not self._addresses[viewer.address]:
                del self._addresses[viewer.address]
        self.metrics.viewers.labels(kind=viewer.kind).dec()
        self.metrics.closed.labels(code=str(code) if code in _KNOWN_CODES else "other").inc()
        if not self.viewers:
            self._emptied.set()

    # -- joining

    def is_ready(self, topic: Topic) -> bool:
        """Whether the topic can be joined at once: its board is here, and names that can be had are."""
        board = self.boards.get(topic.board)
        return board is not None and (board.has(topic) or self.names.all_known(_players(board, topic)))

    async def prepare(self, topic: Topic) -> None:
        """Make the topic ready to be joined; RankcastError where there is no such board, or not in time."""
        board = self.boards.get(topic.board)
        if board is None:
            picture = await self._pictures.open(topic.board)
            board = self.boards.get(topic.board)  # somebody else may have opened it meanwhile
            if board is None:
                board = Board(picture, self.names, self.settings, self.metrics)
                self.boards[topic.board] = board
                if self._group is not None:
                    self._group.create_task(board.run())
        if not board.has(topic):
            await self.names.load(_players(board, topic), _NAMES_WAIT_S)

    def join(self, viewer: Viewer, topic: Topic, have: Position | None) -> Joined:
        """Make the viewer a member and return what it gets first, without a wait in between.

        The topic has been prepared. A member that joins again gets its first frame anew, and nothing twice.
        """
        board = self.boards[topic.board]
        stale = board.stale_frame()
        view = board.view(topic)
        first = view.first(have)
        if viewer not in view.outbox:
            viewer.views += (view,)
            self.metrics.subscriptions.labels(view=view.kind).inc()
        view.outbox.gave(viewer, view.number)
        return Joined(first.resumed, first.frame, stale)

    def part(self, viewer: Viewer, name: str) -> bool:
        """End the viewer's membership in the topic of this name; False: there was none."""
        for view in viewer.views:
            if view.name == name:
                viewer.views = tuple(other for other in viewer.views if other is not view)
                view.outbox.leave(viewer)
                view.empty_since = asyncio.get_running_loop().time()
                self.metrics.subscriptions.labels(view=view.kind).dec()
                return True
        return False

    def part_all(self, viewer: Viewer) -> None:
        """End all memberships of a viewer that is leaving: nothing more is sent to it."""
        for view in viewer.views:
            self.part(viewer, view.name)

    def catch_up(self, viewer: Viewer) -> None:
        """Hand a viewer that has room again the newest of all it is owed."""
        now = asyncio.get_running_loop().time()
        for view in viewer.views:
            self.tally.add(view.kind, view.push_to((viewer,), now))

    def count_command(self, outcome: str) -> None:
        """Count a command by what became of it: ok or a code word."""
        self.metrics.commands.labels(outcome=outcome).inc()

    # -- running

    async def run(self, stop: asyncio.Event) -> None:
        """Tick and look after deadlines until `stop` is set; a part that dies ends it loudly."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = self.openings.group = group
                for work in (Sweep(self).run(), *map(Board.run, self.boards.values())):
                    group.create_task(work)
                await stop.wait()
                self._group = self.openings.group = None
                raise _StoppedError
        except* _StoppedError:
            log.info("hub_stopped")

    async def shutdown(self) -> None:
        """Let no viewer in any more, tell all `bye`, and return when they have left or been cut."""
        self.stopping = True
        log.info("viewers_told_bye", viewers=len(self.viewers))
        last = self.bye()
        for number, viewer in enumerate(list(self.viewers), 1):
            viewer.end(Close.SHUTDOWN, "the server stops", last)
            if number % _ENDS_AT_ONCE == 0:
                await asyncio.sleep(0)
        self._emptied.clear()
        if self.viewers:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.settings.close_timeout_s):
                    await self._emptied.wait()
        for viewer in list(self.viewers):
            viewer.cut(Close.SHUTDOWN)

    def bye(self) -> Frame:
        """The last frame of a server that stops; the more viewers there are the longer they spread."""
        jitter_ms = max(self.settings.bye_jitter_ms, len(self.viewers))
        return frames.bye(Close.SHUTDOWN, self.settings.bye_retry_after_ms, jitter_ms)


_KNOWN_CODES = frozenset({*map(int, Close), 1005, 1006})


def _players(board: Board, topic: Topic) -> list[int]:
    """The players whose names the topic's first frame can carry."""
    picture = board.picture
    match topic.view:
        case Top(limit):
            return [row.player for row in picture.rows(1, limit)]
        case Around(player, radius):
            rank = picture.index.rank_of(player)
            if rank is None:
                return []
            first = max(1, rank - radius)
            return [row.player for row in picture.rows(first, rank + radius - first + 1)]
        case RankUps():
            return []


def _told_limits(settings: Settings) -> dict[str, int]:
    return {
        "subscriptions": settings.max_subscriptions,
        "limit": settings.max_limit,
        "radius": settings.max_radius,
        "frame_bytes": settings.max_frame_bytes,
        "commands_s": settings.max_commands_s,
    }
