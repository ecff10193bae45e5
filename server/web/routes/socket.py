"""`/ws`: where the WebSocket protocol is spoken; not a call that OpenAPI can describe."""

from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from server.errors import RankcastError
from server.live.endpoint import serve_socket
from server.web.state import Request, State


async def _socket(websocket: WebSocket[State]) -> None:
    await serve_socket(websocket, websocket.state["web"].hub)


async def _plain(_request: Request) -> None:
    raise RankcastError(
        "bad_request",
        "This address speaks WebSocket, subprotocol rankcast.v1; /docs shows the calls over HTTP",
    )


ROUTES: list[BaseRoute] = [WebSocketRoute("/ws", _socket), Route("/ws", _plain)]
