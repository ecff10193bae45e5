"""Keeps one mirror equal to its board in Redis, by whatever it takes.

Owns the task behind a mirror: events as they come, holes from the change log, a reload where that does not
reach, and a look at the board's position once a second, since silence is no proof. Never shows a board that
Redis did not have: where it cannot follow, the last picture is served on, marked stale. Neighbours:
`board_events` brings the messages, `board_source` and `mirror_load` read Redis, `mirror` shows the result.
"""

import asyncio

import structlog
from redis.exceptions import RedisError

from server.core.board_event import parse_event
from server.core.replica import Verdict
from server.live.board_events import BoardEvents
from server.live.board_source import BoardSource, BoardUnreadableError, Head
from server.live.mirror import Mirror, now_ms
from server.live.mirror_load import BoardMovedError, load_board
from server.live.pauses import Pauses
from server.logs import Trouble
from server.metrics import Metrics
from server.settings import Settings

log = structlog.get_logger(__name__)

_IN_FLIGHT_S = 0.25  # how long a message may be under way when the board's position has moved already
_PONG_S = 1.0  # how long a subscription that hears may take to answer a ping
_UNREACHABLE_MS = 1000  # without an answer from Redis for so long, the picture may lag


class Follower:
    """The task of one mirror; also the listener of its channel."""

    def __init__(
        self, mirror: Mirror, source: BoardSource, events: BoardEvents, settings: Settings, metrics: Metrics
    ) -> None:
        self._mirror, self._source = mirror, source
        self._events, self._metrics = events, metrics
        self._board = mirror.board
        self._every_s, self._timeout_s = settings.mirror_check_s, settings.mirror_timeout_s
        self._due = asyncio.Event()  # there is something to look into before the next regular look
        self._heard = asyncio.Event()  # set with every message
        self._subscribed = asyncio.Event()
        self._reason: tuple[str, str] | None = None  # an epoch and why it began
        self._pauses = Pauses()
        self._contact_ms = now_ms()
        self._trouble = Trouble(log)

    async def run(self) -> None:
        """Follow the board until cancelled."""
        channel = self._source.keys.events
        await self._events.listen(channel, self)
        try:
            await _within(self._timeout_s, self._subscribed)
            while True:
                self._due.clear()
                await self._look()
                await _within(self._every_s, self._due)
        finally:
            self._events.leave(channel, self)

    # -- the channel

    def on_subscribed(self) -> None:
        """Look whether anything was missed before."""
        self._subscribed.set()
        self._due.set()

    def on_message(self, payload: bytes) -> None:
        """Hand the event to the mirror; look into it where it does not follow."""
        self._heard.set()
        try:
            event = parse_event(payload)
        except ValueError as error:
            log.error("mirror_bad_event", board=self._board, error=str(error))
            self._count_event("bad")
            self._due.set()
            return
        verdict = self._mirror.gather(event)
        self._count_event(verdict.name.lower())
        if verdict is Verdict.OTHER_EPOCH and event.reason is not None:
            self._reason = (event.epoch, event.reason)
        if verdict in (Verdict.AHEAD, Verdict.OTHER_EPOCH):
            self._due.set()

    def _count_event(self, outcome: str) -> None:
        self._metrics.mirror_events.labels(board=self._board, outcome=outcome).inc()

    # -- one look at the board

    async def _look(self) -> None:
        """Bring the mirror to where the board stands; after a fault, pause and look again."""
        try:
            await self._catch_up()
            self._pauses.reset()
            self._trouble.over()
            return
        except BoardMovedError as error:
            self._failed("moved", error)
        except BoardUnreadableError as error:
            self._mirror.mark_stale("unreadable")
            self._failed("unreadable", error)
        except (RedisError, OSError) as error:
            if now_ms() - self._contact_ms >= _UNREACHABLE_MS:
                self._mirror.mark_stale("unreachable", self._contact_ms)
            self._failed(type(error).__name__, error)
        self._due.set()
        await self._pauses.take()

    def _failed(self, reason: str, error: Exception) -> None:
        self._metrics.retries.labels(part="mirror", reason=reason).inc()
        self._trouble.warn("mirror_failed", reason, board=self._board, reason=reason, error=str(error))

    async def _catch_up(self) -> None:
        replica = self._mirror.replica
        known = replica.heard
        head = await self._source.head()
        self._contact_ms = now_ms()
        if head is None:
            self._no_board()
        elif head.epoch != replica.epoch:
            await self._load(head, "replaced")
        elif head.version < known:
            self._mirror.mark_stale("went_back")  # a new epoch comes with the next change
        elif head.version > replica.heard and not await self._arrives(head.version):
            await self._fill(head)
        elif self._differs(head):
            await self._load_other_count(head)
        else:
            self._mirror.mark_fresh()

    def _no_board(self) -> None:
        if self._mirror.epoch is None:
            self._mirror.mark_building()
        else:
            self._mirror.mark_stale("lost")

    async def _arrives(self, version: int) -> bool:
        """Wait a moment for messages under way; where none comes, nor an answer to a ping, we are deaf."""
        replica = self._mirror.replica
        self._heard.clear()
        silent = True
        while replica.heard < version and not replica.is_behind:
            if not await _within(_IN_FLIGHT_S, self._heard):
                break
            silent = False
            self._heard.clear()
        if silent and not await self._events.hears(_PONG_S) and replica.heard < version:
            log.warning("mirror_deaf", board=self._board, epoch=replica.epoch, version=replica.heard)
            self._events.resubscribe("deaf")
        return replica.heard >= version

    async def _fill(self, head: Head) -> None:
        """Fill the hole up to the head from the change log, or else by reading the board again."""
        replica = self._mirror.replica
        events = await self._source.logged(head.epoch, replica.heard, head.version)
        if events is None:
            await self._load(head, "gap")
            return
        self._metrics.mirror_holes.labels(board=self._board, filled="log").inc()
        for event in events:
            self._mirror.gather(event)
        self._mirror.drain()
        if replica.is_behind:
            self._due.set()
        self._mirror.mark_fresh()

    def _differs(self, head: Head) -> bool:
        """Whether the board has another number of players than the picture, both at the same version."""
        if self._mirror.replica.heard != head.version:
            return False  # it has moved on meanwhile
        self._mirror.show_gathered()
        return self._mirror.total != head.players

    async def _load_other_count(self, head: Head) -> None:
        """Somebody else has changed the board: show what is there now, unless everything is gone."""
        log.error(
            "mirror_differs",
            board=self._board,
            version=head.version,
            players=head.players,
            total=self._mirror.total,
        )
        if head.players == 0:
            self._mirror.mark_stale("lost")
        else:
            await self._load(head, "differs")

    async def _load(self, head: Head, why: str) -> None:
        """Read the whole board and show it; the old picture, if there is one, is served meanwhile."""
        mirror = self._mirror
        if mirror.epoch is not None:
            mirror.mark_stale(why)
            self._metrics.mirror_holes.labels(board=self._board, filled="reload").inc()
        with self._metrics.mirror_load_seconds.time():
            loaded = await load_board(self._source, mirror.replica, head)
        epoch, reason = self._reason or ("", "")
        mirror.install(
            loaded.head.epoch,
            loaded.head.version,
            loaded.index,
            reason if epoch == loaded.head.epoch else "replaced",
        )
        log.info(
            "mirror_loaded",
            board=self._board,
            epoch=mirror.epoch,
            version=mirror.version,
            players=mirror.total,
        )
        mirror.mark_fresh()


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Wait for an event for so long at most; tell whether it came."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
