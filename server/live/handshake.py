"""The handshake: uvicorn's own classes, and the moment in which a WebSocket leaves them.

Owns: handing the transport over in the call that writes the 101, with the bytes that have come by then. After
that no task, scope or parser of the handshake is left.
Never does: decide who may come in: `endpoint` does, as an ordinary Starlette endpoint.
Neighbours: `web/server.py` gives both classes to uvicorn's `Config`; `endpoint` uses `HAND_OVER`.
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Any, ClassVar, cast

from httptools import HttpParserUpgrade
from uvicorn._types import ASGISendEvent
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

HAND_OVER = "rankcast.hand_over"
"""Scope extension of WebSockets: called with a function that makes the next protocol, before `accept`."""

TRANSPORT = "rankcast.transport"
"""Scope extension of HTTP requests: the connection's transport, to abort a reader that is stuck."""

_MOST_EARLY_BYTES = 65_536

Successor = Callable[[set[Any]], asyncio.Protocol]


class _Left(asyncio.Transport):
    """What the handshake holds instead of the transport that it gave away: closing it does nothing."""

    def close(self) -> None:
        pass

    def is_closing(self) -> bool:
        return True


class RankcastProtocol(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket up to the 101, without compression: prepared frames go to all as they are."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn.available_extensions = None
        self._early = bytearray()
        self._successor: Successor | None = None

    def data_received(self, data: bytes) -> None:
        """Keep what comes between the request and its answer for who comes after."""
        if not self.handshake_initiated or self.handshake_complete:
            super().data_received(data)
        else:
            self._early += data
            if len(self._early) > _MOST_EARLY_BYTES:
                self.transport.pause_reading()

    def handle_connect(self, event: Any) -> None:
        """Begin the request, with the way to take the connection over in its scope."""
        super().handle_connect(event)
        if self.response.status_code == 101:
            extensions = cast(dict[str, Any], self.scope["extensions"])
            extensions[HAND_OVER] = self._succeed

    def _succeed(self, successor: Successor) -> None:
        self._successor = successor

    async def send(self, message: ASGISendEvent) -> None:
        """Send as uvicorn does; an accepted connection goes to its successor within the same step."""
        await super().send(message)
        if message["type"] == "websocket.accept" and self.handshake_complete:
            if self._successor is not None:
                self._hand_over(self._successor)
            elif self._early:
                self._take_early(super().data_received)

    def _hand_over(self, successor: Successor) -> None:
        self.stop_keepalive()
        transport, self.transport = self.transport, _Left()
        self.connections.discard(self)
        protocol = successor(self.connections)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        transport.resume_reading()
        if self._early:
            self._take_early(protocol.data_received)
        self._break_cycles()

    def _break_cycles(self) -> None:
        """Let what is left go at once: ten thousand handshakes would wait for the garbage collector."""
        self._successor = None
        cast(dict[str, Any], self.scope["extensions"]).pop(HAND_OVER)
        del self.conn.parser

    def _take_early(self, receive: Callable[[bytes], None]) -> None:
        early = bytes(self._early)
        self._early.clear()
        receive(early)


class RankcastHttp(HttpToolsProtocol):
    """uvicorn's HTTP, three things added.

    A client has `HEAD_TIMEOUT_S` seconds for the head of a request: connections that never say anything do
    not pile up. The transport stands in each request's scope: a stream's stuck reader can be cut. And bytes
    that came in one piece with the request for a WebSocket are passed on; uvicorn drops them.
    """

    HEAD_TIMEOUT_S: ClassVar[float] = 10.0

    _piece: bytes = b""
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Wait for the first request."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._have_head()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.HEAD_TIMEOUT_S, self.transport.abort)

    def _have_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._expect_head()
        super().on_message_begin()
        self.scope["extensions"] = {TRANSPORT: cast(Any, self.transport)}

    def on_headers_complete(self) -> None:
        """The head of a request is whole."""
        self._have_head()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Take bytes, and remember them while they are parsed."""
        self._piece = data
        super().data_received(data)
        self._piece = b""

    def handle_websocket_upgrade(self) -> None:
        """Begin the handshake; called while the parser tells by an exception where the request ended."""
        end = sys.exception()
        assert isinstance(end, HttpParserUpgrade)
        rest = self._piece[end.args[0] :]
        super().handle_websocket_upgrade()
        del self.parser  # the other half of a cycle; nothing is fed to it any more
        if rest:
            protocol = cast(asyncio.Protocol, self.transport.get_protocol())
            protocol.data_received(rest)
