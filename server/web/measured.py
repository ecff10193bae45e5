"""How many requests there were, how they were answered, and how long the answer took to begin.

The middleware is plain ASGI: it never touches a message, and leaves WebSockets alone (`live` counts viewers).
Bytes that are no HTTP never get there: the protocol that reads them counts them, as route "none".
Neighbours: `app.py` installs the middleware with its table of addresses, `server.py` the protocol.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.live.handshake import RankcastHttp
from server.metrics import Metrics

NO_ROUTE = "none"  # an address that nothing is at
GONE = "gone"  # the client left before the answer began


def addresses(routes: Iterable[BaseRoute]) -> dict[Any, str]:
    """Endpoint → its address with names in braces: what the label `route` says."""
    return {route.endpoint: route.path for route in routes if isinstance(route, Route)}


class Measured:
    """Counts each request by route and status once its answer begins; a stream counts as it begins, too."""

    def __init__(self, app: ASGIApp, addresses: Mapping[Any, str]) -> None:
        self.app = app
        self.addresses = addresses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), GONE

        async def send_and_look(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
                self._tell(scope, status, time.perf_counter() - began)
            await send(message)

        try:
            await self.app(scope, receive, send_and_look)
        except Exception:  # answered further out, where its cause is logged
            if status == GONE:
                status = "500"
                self._tell(scope, status, time.perf_counter() - began)
            raise
        if status == GONE:
            self._tell(scope, status, time.perf_counter() - began)

    def _tell(self, scope: Scope, status: str, seconds: float) -> None:
        process = scope.get("state", {}).get("process")
        if process is None:
            return  # an app whose resources were never opened counts nothing
        metrics: Metrics = process.metrics
        route = self.addresses.get(scope.get("endpoint"), NO_ROUTE)
        metrics.http_requests.labels(route, status).inc()
        metrics.http_seconds.labels(route).observe(seconds)


class MeasuredHttp(RankcastHttp):
    """uvicorn's HTTP, and ours: bytes that are no request are counted with the requests."""

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read; the connection ends."""
        self.app_state["process"].metrics.http_requests.labels(NO_ROUTE, "400").inc()
        super().send_400_response(msg)
