"""The one subscription of this process to the boards' channels, kept alive.

Owns the pub/sub connection: it is made again, with a growing pause, when it breaks, and when somebody says
that it is deaf. Never promises that no message is lost; each listener is told when its channel was (again)
subscribed, and finds the hole itself. Neighbours: mirrors listen, `mirrors.py` runs it.
"""

import asyncio
from typing import Protocol

import structlog
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from server.board.position import text
from server.live.pauses import Pauses
from server.logs import Trouble
from server.metrics import Metrics

log = structlog.get_logger(__name__)

_SETTLED_S = 2.0  # a connection that lasted so long was a good one
_CONFIRM_S = 5.0  # how long the first answer on a new connection may take


class Listener(Protocol):
    """Who hears a channel; both are called in the event loop and must not block."""

    def on_subscribed(self) -> None:
        """The channel is subscribed, for the first time or again: messages before this may be lost."""

    def on_message(self, payload: bytes) -> None:
        """A message came."""


class BoardEvents:
    """Hands the messages of channels to their listeners; `run` for as long as anybody listens."""

    def __init__(self, redis: Redis, metrics: Metrics) -> None:
        self._redis = redis
        self._retries = metrics.retries
        self._listeners: dict[str, list[Listener]] = {}
        self._pubsub: PubSub | None = None
        self._session: asyncio.Timeout | None = None
        self._wanted = asyncio.Event()
        self._pong = asyncio.Event()
        self._trouble = Trouble(log)

    async def listen(self, channel: str, listener: Listener) -> None:
        """Begin to hand a channel's messages to the listener, who is told as soon as it is subscribed."""
        others = self._listeners.setdefault(channel, [])
        others.append(listener)
        self._wanted.set()
        if self._pubsub is None:
            return
        try:
            await self._pubsub.subscribe(channel)
        except (RedisError, OSError):
            self.resubscribe("broken")

    def leave(self, channel: str, listener: Listener) -> None:
        """Hand no more messages to the listener; the subscription itself ends with the next connection."""
        self._listeners[channel].remove(listener)
        if not self._listeners[channel]:
            del self._listeners[channel]

    def resubscribe(self, reason: str) -> None:
        """Give the connection up, as it is deaf or broken, and subscribe everything on a new one."""
        if self._session is None or self._session.when() is not None:
            return  # a new connection is on its way already
        self._retries.labels(part="board_events", reason=reason).inc()
        self._session.reschedule(asyncio.get_running_loop().time())

    async def hears(self, within_s: float) -> bool:
        """Whether a ping on the subscription is answered, behind all messages that were published before it.

        Silence alone proves nothing: on a busy machine messages are late by more than anybody would wait. A
        connection that is just being made hears: its listeners will be told.
        """
        pubsub = self._pubsub
        if pubsub is None:
            return True
        self._pong.clear()
        try:
            async with asyncio.timeout(within_s):
                await pubsub.ping()
                await self._pong.wait()
        except TimeoutError:
            return self._pubsub is not pubsub
        except (RedisError, OSError):
            self.resubscribe("broken")
        return True

    async def run(self) -> None:
        """Keep subscribed until cancelled."""
        pauses, loop = Pauses(), asyncio.get_running_loop()
        while True:
            await self._wanted.wait()
            started = loop.time()
            await self._one_connection()
            if loop.time() - started > _SETTLED_S:
                pauses.reset()
            await pauses.take()

    async def _one_connection(self) -> None:
        """Subscribe and hand out messages until the connection breaks or is given up."""
        pubsub = self._redis.pubsub()
        session, confirmed = asyncio.timeout(_CONFIRM_S), False
        self._session = session
        try:
            async with session:
                await self._subscribe_all(pubsub)
                await self._hand_out(pubsub)
                session.reschedule(None)
                confirmed = True
                self._trouble.over()
                while True:
                    await self._hand_out(pubsub)
        except (RedisError, OSError) as error:
            if not (confirmed and session.expired()):
                self._retries.labels(part="board_events", reason=type(error).__name__).inc()
            self._trouble.warn("board_events_lost", type(error), given_up=session.expired(), error=str(error))
        finally:
            self._pubsub = self._session = None
            await pubsub.aclose()  # type: ignore[no-untyped-call]  # redis-py leaves it untyped

    async def _subscribe_all(self, pubsub: PubSub) -> None:
        """Subscribe every channel, also those that come to be wanted meanwhile."""
        subscribed: set[str] = set()
        while missing := set(self._listeners) - subscribed:
            await pubsub.subscribe(*missing)
            subscribed |= missing
        self._pubsub = pubsub

    async def _hand_out(self, pubsub: PubSub) -> None:
        """Wait for one message and call its listeners."""
        message = await pubsub.get_message(timeout=None)
        if message is None:
            return
        if message["type"] == "pong":
            self._pong.set()
            return
        for listener in tuple(self._listeners.get(text(message["channel"]), ())):
            if message["type"] == "subscribe":
                listener.on_subscribed()
            elif message["type"] == "message":
                listener.on_message(message["data"])
