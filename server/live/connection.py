"""One WebSocket after its handshake: bytes in and out of a transport, and when the line is dead.

Owns: the transport; reading client frames with a parser that lives as long as a frame is coming; what may be
written while the reader lags; pings, the closing handshake and the deadlines of all that.
Never does: hold a task, a timer or a parser while nothing comes; there may be a hundred thousand of these.
Neighbours: `handshake` hands the transport over, `session` has the commands, `sweep` calls `check`.

The high-water mark of the transport is 0, so `pause_writing` says exactly when bytes were left unsent: a
healthy reader costs no look at its buffer.
"""

import asyncio
import contextlib
import socket
from typing import Any, ClassVar, cast

from server.core.inbound import (
    CloseFrame,
    Event,
    Fragment,
    Inbound,
    PingFrame,
    PongFrame,
    Text,
    Violation,
)
from server.core.pace import Hold
from server.core.wire import PING, Frame, close_frame, pong_frame
from server.errors import Close
from server.live.hub import Hub
from server.live.session import Session

_GONE = 1006  # what RFC 6455 calls a close without a close frame
_NO_CODE = 1005
# After these nothing that still comes is read, and nothing more is sent: the end of the stream says so.
_DEAF = frozenset(
    {
        Close.PROTOCOL_ERROR,
        Close.UNSUPPORTED,
        Close.INVALID_TEXT,
        Close.TOO_BIG,
        Close.TOO_MANY_REQUESTS,
    }
)
_NOTSENT_LOWAT = getattr(socket, "TCP_NOTSENT_LOWAT", None)  # not on every system


def keep_queue_short(transport: asyncio.Transport, size: int) -> None:
    """Let the kernel queue no more than `size` unsent bytes: they are old by the time they are read."""
    line = transport.get_extra_info("socket")
    if _NOTSENT_LOWAT is not None and line is not None:
        with contextlib.suppress(OSError):  # a socket that is gone already, or none of TCP
            line.setsockopt(socket.IPPROTO_TCP, _NOTSENT_LOWAT, size)


class Connection(Session, asyncio.Protocol):
    """A viewer with a socket. `connections` is the server's set of connections, for an orderly stop."""

    __slots__ = (
        "_closing_at",
        "_code",
        "_connections",
        "_heard_at",
        "_hold",
        "_inbound",
        "_pinged_at",
        "_transport",
    )

    kind: ClassVar[str] = "socket"

    def __init__(self, hub: Hub, connections: set[Any], address: str, expires_at: float) -> None:
        now = asyncio.get_running_loop().time()
        super().__init__(hub, now, address, expires_at)
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._inbound: Inbound | None = None
        self._hold: Hold | None = None  # while bytes are unsent
        self._heard_at = now  # bytes came, or were taken by a reader that lagged
        self._pinged_at: float | None = None
        self._closing_at: float | None = None
        self._code = _GONE

    # -- the transport's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The handshake is over: this is the transport's protocol now."""
        self._transport = transport = cast(asyncio.Transport, transport)
        transport.set_write_buffer_limits(high=0)
        keep_queue_short(transport, self.hub.settings.outbox_bytes)
        self._connections.add(self)
        self.hub.enter(self)
        self.send(self.hub.welcome, self._heard_at)

    def connection_lost(self, exc: Exception | None) -> None:
        """The line is gone, in whatever way."""
        self._connections.discard(self)
        self._inbound = None
        self._hold = None
        self.hub.leave(self, self._code)

    def pause_writing(self) -> None:
        """Bytes are left unsent."""
        if self._hold is None:
            self._hold = Hold(self._unsent(), asyncio.get_running_loop().time())

    def resume_writing(self) -> None:
        """Everything has been taken: the newest of what is owed comes next, then the commands that waited."""
        self._hold = None
        if self._transport is None or self._closing_at is not None:
            return
        now = asyncio.get_running_loop().time()
        self._alive(now)
        self.hub.catch_up(self)
        self._transport.resume_reading()
        self._read_on(now)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self._closing_at is not None and self._code in _DEAF:
            return
        now = asyncio.get_running_loop().time()
        self._alive(now)
        if self._inbound is None:
            self._inbound = Inbound(self.hub.settings.max_frame_bytes)
        self._inbound.feed(data)
        self._read_on(now)

    # -- client frames

    def _alive(self, now: float) -> None:
        self._heard_at = now
        self._pinged_at = None

    def _read_on(self, now: float) -> None:
        """Take one event after another; a client that does not read its answers is not read either."""
        while (inbound := self._inbound) is not None:
            if self._is_full() and self._closing_at is None:
                self._line.pause_reading()
                return
            event = inbound.next()
            if event is None:
                if inbound.is_idle:
                    self._inbound = None
                return
            self._take(event, now)

    def _take(self, event: Event, now: float) -> None:
        if isinstance(event, CloseFrame):
            self._closed_by_client(event, now)
        elif isinstance(event, Violation):
            self.end(Close(event.code), event.reason)
        elif self._closing_at is not None:
            return  # said too late
        elif isinstance(event, Text):
            self.receive(event.text, now)
        elif isinstance(event, PingFrame):
            if self.allows(now):
                self._line.write(pong_frame(event.data))
        elif isinstance(event, Fragment | PongFrame):
            self.allows(now)

    def _closed_by_client(self, event: CloseFrame, now: float) -> None:
        """Answer a close with a close; the end of ours needs no answer."""
        self._inbound = None
        if self._closing_at is None:
            self._code = event.code or _NO_CODE
            self._begin_to_close(now)
            self._line.write(close_frame(event.code))
        self._line.close()

    # -- what the hub asks

    @property
    def _line(self) -> asyncio.Transport:
        assert self._transport is not None
        return self._transport

    def _unsent(self) -> int:
        return self._line.get_write_buffer_size()

    def _is_full(self) -> bool:
        return self._hold is not None and self._unsent() > self.hub.settings.outbox_bytes

    def push(self, frame: Frame, now: float) -> bool:
        """Write the frame, if no more than a bounded number of bytes is unsent."""
        if self._hold is not None and self._is_full():
            return False
        self.send(frame, now)
        return True

    def send(self, frame: Frame, now: float) -> None:
        """Write the frame."""
        data, transport = frame.socket, self._transport
        if transport is None or self._closing_at is not None or transport.is_closing():
            return
        transport.write(data)
        self.sent_at = now
        if self._hold is not None:
            self._hold.hand(len(data))

    def is_quiet(self) -> bool:
        """Whether nothing is unsent and nothing closes."""
        return self._hold is None and self._closing_at is None

    def end(self, code: Close, reason: str, last: Frame | None = None) -> None:
        """Close with this code; whoever does not answer in time is cut."""
        if self._closing_at is not None or self._transport is None:
            return
        now = asyncio.get_running_loop().time()
        if last is not None:
            self.send(last, now)
        self._code = code
        self._begin_to_close(now)
        if self._transport.is_closing():
            return
        self._transport.write(close_frame(code, reason))
        if code not in _DEAF:
            self._transport.resume_reading()  # for the answer
            return
        self._inbound = None
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def _begin_to_close(self, now: float) -> None:
        self._closing_at = now
        self.hub.part_all(self)

    def cut(self, code: Close) -> None:
        """Drop the line; a close frame is tried where there is room for it."""
        self.end(code, "")
        self._line.abort()

    def shutdown(self) -> None:
        """The server stops (it calls this on all of its connections)."""
        self.end(Close.SHUTDOWN, "the server stops", self.hub.bye())

    # -- deadlines

    def check(self, now: float) -> None:
        """Cut a line that is dead, ping one that has long been silent."""
        settings = self.hub.settings
        if self._closing_at is not None:
            if now - self._closing_at >= settings.close_timeout_s:
                self._line.abort()
            return
        if self._hold is not None:
            self._check_hold(self._hold, now)
        elif self._pinged_at is not None:
            if now - self._pinged_at >= settings.pong_timeout_s:
                self.cut(Close.NO_PONG)
        elif now - self._heard_at >= settings.ping_every_s:
            self._line.write(PING)
            self._pinged_at = now
        if self._closing_at is None:
            self.check_session(now)

    def _check_hold(self, hold: Hold, now: float) -> None:
        """A reader that takes something, however little, is slow but alive."""
        if hold.moved(self._unsent(), now):
            self._alive(now)
        elif hold.still_for(now) >= self.hub.settings.write_deadline_s:
            self.cut(Close.SLOW)
