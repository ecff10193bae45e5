"""A board by server-sent events: a viewer behind an HTTP answer, for whoever cannot open a WebSocket.

Owns: what an address asks for, the stream's small outbox, and its end. Frames are those of the socket.
Never does: queue: while the reader lags the stream is owed a version, as sockets are.
Neighbours: `web` mounts `stream`; `handshake` puts the transport into the scope, so that a reader can be cut.
"""

import asyncio
import random
import re
import time
from typing import Any, ClassVar

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server.core import frames
from server.core.pace import Hold
from server.core.position import Position, parse_position
from server.core.refusals import Refusal, shown
from server.core.topics import Topic, parse_topic
from server.core.wire import Frame
from server.errors import Close, RankcastError
from server.live.connection import keep_queue_short
from server.live.endpoint import counted_address, header_expiry, require_origin
from server.live.handshake import TRANSPORT
from server.live.hub import Hub
from server.live.viewer import Viewer

_INTEGER = re.compile(r"0|-?[1-9]\d{0,15}", re.ASCII)
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


async def stream(request: Request[Any], hub: Hub, board: str) -> Response:
    """Answer GET …/stream: follow one view of a board; refusals are raised before the first byte.

    `view` (top), `limit`, `player` and `radius` name the view, `have` or Last-Event-ID where the client is.
    """
    require_origin(request.headers.getlist("origin"), hub.settings.origins)
    expires_at = header_expiry(request.headers, hub)
    if expires_at <= 0:
        raise RankcastError("bad_token", "reads need a token here: send Authorization: Bearer <token>")
    topic = _topic(request.query_params, board, hub)
    have = _have(request)
    hub.require_room(counted_address(request.client, hub))
    if not hub.is_ready(topic):
        await hub.prepare(topic)
    return EventStream(hub, topic, have, expires_at)


def _topic(query: QueryParams, board: str, hub: Hub) -> Topic:
    fields: dict[str, object] = {"view": "top", **query, "board": board}
    for name in ("limit", "radius"):
        text = query.get(name, "")
        if _INTEGER.fullmatch(text):
            fields[name] = int(text)
    topic = parse_topic(fields, hub.limits)
    if isinstance(topic, Refusal):
        raise RankcastError(topic.code, topic.reason)
    return topic


def _have(request: Request[Any]) -> Position | None:
    """Where the client is; the header may have been some other stream's, so a strange one is no error."""
    text = request.query_params.get("have")
    if text is None:
        return parse_position(request.headers.get("last-event-id", ""))
    have = parse_position(text)
    if have is None:
        wanted = "epoch and version of a frame, as in 5f0c6e1d2a3b4c5d-7"
        raise RankcastError("bad_request", f"have is {shown(text)}; send {wanted}")
    return have


class EventStream(Response):
    """The answer: events until one side leaves."""

    media_type = "text/event-stream"

    def __init__(self, hub: Hub, topic: Topic, have: Position | None, expires_at: float) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._hub, self._topic, self._have, self._expires_at = hub, topic, have, expires_at

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head, then be a viewer until the end."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        hub = self._hub
        transport = scope.get("extensions", {}).get(TRANSPORT)
        viewer = Stream(hub, counted_address(Request(scope).client, hub), self._expires_at, transport)
        hub.enter(viewer)
        leaving = asyncio.create_task(_until_gone(receive, viewer))
        try:
            viewer.begin(self._topic, self._have)
            await viewer.feed(send)
        finally:
            leaving.cancel()
            hub.leave(viewer, viewer.code)


async def _until_gone(receive: Receive, viewer: "Stream") -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    viewer.gone()


class Stream(Viewer):
    """A viewer whose frames go into an HTTP body. `code` is what a socket would be closed with."""

    __slots__ = (
        "_ended",
        "_expires_at",
        "_hold",
        "_hub",
        "_size",
        "_transport",
        "_waiting",
        "_woken",
        "code",
    )

    kind: ClassVar[str] = "stream"

    def __init__(
        self, hub: Hub, address: str, expires_at: float, transport: asyncio.Transport | None
    ) -> None:
        super().__init__(asyncio.get_running_loop().time(), address)
        self.code = 1006
        self._hub = hub
        self._expires_at = expires_at
        self._transport = transport
        if transport is not None:
            keep_queue_short(transport, hub.settings.outbox_bytes)
        self._waiting: list[bytes] = []
        self._size = 0
        self._woken = asyncio.Event()
        self._ended = False
        self._hold: Hold | None = None

    def begin(self, topic: Topic, have: Position | None) -> None:
        """Join the topic, and be sent its first frame."""
        joined = self._hub.join(self, topic, have)
        for frame in (joined.frame, joined.stale):
            if frame is not None:
                self.send(frame, self.sent_at)

    async def feed(self, send: Send) -> None:
        """Send what waits, again and again; while a reader lags, `send` waits and the rest is conflated."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            data = b"".join(self._waiting)
            self._waiting.clear()
            self._size = 0
            if data:
                await send({"type": "http.response.body", "body": data, "more_body": True})
                if self._hold is not None:
                    self._hold.hand(len(data))
                self._hub.catch_up(self)
            if self._ended and not self._waiting:
                await send({"type": "http.response.body", "body": b""})
                return

    # -- what the hub asks

    def push(self, frame: Frame, now: float) -> bool:
        """Take the frame if no more than a bounded number of bytes waits."""
        if self._size > self._hub.settings.outbox_bytes:
            return False
        self.send(frame, now)
        return True

    def send(self, frame: Frame, now: float) -> None:
        """Take the frame."""
        if not self._ended:
            self.sent_at = now
            self._put(frame.event)

    def _put(self, data: bytes) -> None:
        self._waiting.append(data)
        self._size += len(data)
        self._woken.set()

    def is_quiet(self) -> bool:
        """Whether nothing waits and nothing ends."""
        return not self._waiting and self._hold is None and not self._ended

    def end(self, code: Close, reason: str, last: Frame | None = None) -> None:
        """End with a `bye` that has the code; an EventSource is told when to come back."""
        if self._ended:
            return
        settings = self._hub.settings
        wait_ms = settings.bye_retry_after_ms + random.randrange(settings.bye_jitter_ms + 1)
        last = last or frames.bye(code, settings.bye_retry_after_ms, settings.bye_jitter_ms)
        self._put(b"retry: %d\n" % wait_ms + last.event)
        self.code = code
        self._leave()

    def gone(self) -> None:
        """The client has left."""
        self._waiting.clear()
        self._leave()

    def _leave(self) -> None:
        self._ended = True
        self._hub.part_all(self)
        self._woken.set()

    def cut(self, code: Close) -> None:
        """Drop the line without waiting for anything to be taken."""
        if not self._ended:
            self.code = code
        self.gone()
        if self._transport is not None:
            self._transport.abort()

    def check(self, now: float) -> None:
        """Cut a reader that takes nothing; end a stream whose token has expired."""
        if self._transport is not None:
            self._check_hold(self._transport.get_write_buffer_size(), now)
        if not self._ended and self._expires_at <= time.time():
            self.end(Close.TOKEN_EXPIRED, "the token has expired")

    def _check_hold(self, unsent: int, now: float) -> None:
        if unsent == 0:
            self._hold = None
        elif self._hold is None:
            self._hold = Hold(unsent, now)
        elif not self._hold.moved(unsent, now) and self._hold.still_for(now) >= self._deadline_s:
            self.cut(Close.SLOW)

    @property
    def _deadline_s(self) -> float:
        return self._hub.settings.close_timeout_s if self._ended else self._hub.settings.write_deadline_s
