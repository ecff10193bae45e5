"""GET /ws: who may come in, decided before the connection is accepted.

Owns: the rules of origin, subprotocol, token header, room and addresses, and what a refusal looks like.
Never does: stay: once the connection is handed over, the request is over.
Neighbours: `web` mounts `serve_socket`; `handshake` offers the hand-over; `connection` takes it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson
from starlette.responses import Response
from starlette.websockets import WebSocket

from server.core.frames import PROTOCOL
from server.core.refusals import shown
from server.core.wire import close_frame
from server.errors import Close, RankcastError
from server.live.connection import Connection
from server.live.handshake import HAND_OVER, Successor
from server.live.hub import Hub
from server.live.session import FOREVER
from server.live.tokens import bearer
from server.settings import variable


async def serve_socket(websocket: WebSocket[Any], hub: Hub) -> None:
    """Take a WebSocket in, or refuse it.

    Refused before the 101: an origin that is not listed (403) and a token header that is not valid (401).
    Accepted and closed at once, since only so a page learns the code: another subprotocol (3501), no room
    (3504), a server that stops (3001).
    """
    try:
        require_origin(websocket.headers.getlist("origin"), hub.settings.origins)
        expires_at = header_expiry(websocket.headers, hub)
    except RankcastError as error:
        hub.metrics.refused_viewers.labels(reason=error.code).inc()
        await websocket.send_denial_response(_problem(error))
        return
    offered = websocket.scope.get("subprotocols", [])
    address = counted_address(websocket.client, hub)
    websocket.scope["extensions"][HAND_OVER](_successor(hub, offered, address, expires_at))
    await websocket.accept(subprotocol=PROTOCOL if PROTOCOL in offered else None)


def _successor(hub: Hub, offered: Sequence[str], address: str, expires_at: float) -> Successor:
    """What the connection becomes once it is accepted; whether there is room is asked at that moment."""

    def make(connections: set[Any]) -> asyncio.Protocol:
        refusal = _refusal(hub, offered, address)
        if refusal is not None:
            return RefusedSocket(connections, *refusal, hub.settings.close_timeout_s)
        return Connection(hub, connections, address, expires_at)

    return make


def _refusal(hub: Hub, offered: Sequence[str], address: str) -> tuple[Close, str] | None:
    """Why a connection is closed as soon as it is open."""
    if offered and PROTOCOL not in offered:
        hub.metrics.refused_viewers.labels(reason="subprotocol").inc()
        return Close.BAD_REQUEST, f"this server speaks {PROTOCOL} alone; reload the page"
    try:
        hub.require_room(address)
    except RankcastError as error:
        hub.metrics.refused_viewers.labels(reason=error.code).inc()
        return Close.SHUTDOWN if hub.stopping else Close.CONNECTION_LIMIT, error.reason
    return None


def require_origin(given: Sequence[str], listed: Sequence[str]) -> None:
    """Refuse pages of origins that are not listed, where any are; scheme, host and port have to be the same.

    A client without an Origin header is no page (OBS's own sources, scripts, servers): it may come in. The
    origin `null` has to be listed like any other.
    """
    if not listed or not given:
        return
    allowed = {origin.lower() for origin in listed}
    if len(given) != 1 or given[0].lower() not in allowed:
        origin = shown(", ".join(given))
        raise RankcastError("origin_refused", f"origin {origin} is not listed in {variable('origins')}")


def header_expiry(headers: Mapping[str, str], hub: Hub) -> float:
    """Until when (Unix time) the token in the header lets read; reads are open: for ever, no token: 0."""
    if hub.tokens is None:
        return FOREVER
    token = bearer(headers.get("authorization"))
    return 0.0 if token is None else hub.tokens.expiry(token)


def counted_address(client: Any, hub: Hub) -> str:
    """The client's address where connections are counted by address, else ""."""
    return client.host if client is not None and hub.settings.max_connections_per_address else ""


def _problem(error: RankcastError) -> Response:
    """The refusal as problem details, in the shape that all HTTP answers have."""
    kind = error.kind
    body = {
        "type": f"/problems/{error.code}",
        "title": kind.title,
        "status": kind.status,
        "detail": error.reason,
        "code": error.code,
        "retry": kind.retry,
    }
    headers = {"cache-control": "no-store"}
    if kind.status == 401:
        headers["www-authenticate"] = "Bearer"
    return Response(orjson.dumps(body), kind.status, headers, "application/problem+json")


class RefusedSocket(asyncio.Protocol):
    """An open connection that is told why it is closed, and never becomes a viewer."""

    def __init__(self, connections: set[Any], code: Close, reason: str, timeout_s: float) -> None:
        self._connections = connections
        self._code, self._reason, self._timeout_s = code, reason, timeout_s
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say why, and leave the rest to the client for a moment."""
        self._transport = transport = cast(asyncio.Transport, transport)
        self._connections.add(self)
        transport.write(close_frame(self._code, self._reason))
        if transport.can_write_eof():
            transport.write_eof()
        asyncio.get_running_loop().call_later(self._timeout_s, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._connections.discard(self)

    def shutdown(self) -> None:
        """The server stops."""
        assert self._transport is not None
        self._transport.abort()
