"""Four servers that send frames of one size to their viewers when they are told to.

Owns them: bare `write(2)`, Starlette's `send_text`, uvicorn's own class with prepared bytes, and Rankcast
with everything on (board, diff, encoding, hub). Never measures. Neighbours: `fanout.py` compares them,
`page.py` takes the board.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

import numpy as np
import uvicorn
from redis.asyncio import Redis
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from server.core.board_event import BoardEvent
from server.core.order import OrderedIndex
from server.core.season import Season
from server.core.wire import text_frame
from server.live.endpoint import serve_socket
from server.live.handshake import RankcastHttp, RankcastProtocol
from server.live.hub import Hub
from server.live.mirror import Mirror
from server.live.names import Names
from server.metrics import Metrics
from server.settings import Settings

PLAYERS, CHANGES = 2_000, 18  # of a tick; a frame of about 650 bytes
BOARD = "s12"
REQUEST = (
    b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
)
SUBSCRIBE = b'{"id":1,"op":"subscribe","board":"s12","view":"top","limit":100}'


class Board:
    """A mirror that is changed by hand: some players of the top take other places."""

    def __init__(self, metrics: Metrics) -> None:
        definition = {
            "season_id": 12,
            "name": "fan-out",
            "starts_at": "1970-01-01T00:00:00Z",
            "ends_at": "2100-01-01T00:00:00Z",
            "operator": "best",
            "points_bits": 21,
            "time_bits": 32,
        }
        self.mirror = Mirror(Season.parse(definition, 0), metrics, 1_000)
        self._dice = np.random.default_rng(7)
        scores = self._scores(PLAYERS, 1)
        self.mirror.install(
            "0" * 16, 1, OrderedIndex.from_arrays(np.arange(PLAYERS) + 10**6, scores), "replaced"
        )
        self.mirror.mark_fresh()

    def _scores(self, count: int, second: int) -> Any:
        codec = self.mirror.season.codec
        points = self._dice.integers(1_000, 900_000, count)
        return np.array([codec.encode(int(value), second * 1_000_000) for value in points])

    def change(self, version: int) -> None:
        """One version: some of the best 100 get other points."""
        best = self.mirror.rows(1, 100)
        chosen = self._dice.choice([row.player for row in best], CHANGES, replace=False).tolist()
        points = self._dice.integers(best[-1].points, best[0].points, CHANGES)
        codec = self.mirror.season.codec
        scores = [codec.encode(int(value), version * 1_000_000) for value in points]
        self.mirror.gather(BoardEvent("0" * 16, version, chosen, scores))

    async def open(self, _board: str) -> Mirror:
        """As `Mirrors.open`."""
        return self.mirror


class NoNames:
    """Nobody has a name."""

    async def names(self, _ids: list[int]) -> dict[int, str]:
        return {}


@contextlib.asynccontextmanager
async def _uvicorn(app: Any, **options: Any) -> AsyncIterator[int]:
    config = uvicorn.Config(app, port=0, lifespan="off", log_config=None, access_log=False, **options)
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110  uvicorn has no event for it
        await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = server.force_exit = True
    await running


Tick = Callable[[int], Awaitable[None]]


class Sender(NamedTuple):
    """A running server: its port, how many viewers it has, one tick to all, messages and bytes sent."""

    port: int
    viewers: Callable[[], int]
    tick: Tick
    sent: Callable[[], tuple[float, float]]


@contextlib.asynccontextmanager
async def _rankcast() -> AsyncIterator[Sender]:
    settings = Settings(first_subscription_s=600, ping_every_s=600, heartbeat_ms=600_000)
    metrics = Metrics()
    board = Board(metrics)
    redis = Redis.from_url("redis://127.0.0.1:1/0")
    names = Names(NoNames(), redis, settings, metrics)
    hub = Hub(settings, metrics, board, names)

    async def endpoint(websocket: WebSocket) -> None:
        await serve_socket(websocket, hub)

    async def tick(number: int) -> None:
        board.change(number + 2)

    def sent() -> tuple[float, float]:
        value = metrics.registry.get_sample_value
        return (
            value("rankcast_frames_sent_total", {"view": "top"}) or 0.0,
            value("rankcast_frame_bytes_sent_total", {"view": "top"}) or 0.0,
        )

    stop = asyncio.Event()
    running = asyncio.create_task(hub.run(stop))
    app = Starlette(routes=[WebSocketRoute("/ws", endpoint)])
    async with _uvicorn(app, ws=RankcastProtocol, http=RankcastHttp) as port:
        yield Sender(port, lambda: sum(len(viewer.views) for viewer in hub.viewers), tick, sent)
        stop.set()
        await running


@contextlib.asynccontextmanager
async def _starlette(size: int, *, prepared: bool) -> AsyncIterator[Sender]:
    sockets: set[WebSocket] = set()
    text = "x" * size
    frame = text_frame(text.encode())
    count = 0

    async def endpoint(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.receive_text()
        sockets.add(websocket)
        with contextlib.suppress(WebSocketDisconnect):
            await websocket.receive_text()
        sockets.discard(websocket)

    async def tick(_number: int) -> None:
        nonlocal count
        for websocket in list(sockets):
            if prepared:
                protocol = websocket._send.__self__  # type: ignore[attr-defined]  # uvicorn's class, wrapped by no middleware
                protocol.transport.write(frame)
            else:
                await websocket.send_text(text)
            count += 1

    app = WebSocketRoute("/ws", endpoint)
    options = {"ws": "websockets-sansio", "ws_per_message_deflate": False, "ws_ping_interval": None}
    async with _uvicorn(app, **options) as port:
        yield Sender(port, lambda: len(sockets), tick, lambda: (count, count * len(frame)))


@contextlib.asynccontextmanager
async def _bare(size: int) -> AsyncIterator[Sender]:
    listening = socket.create_server(("127.0.0.1", 0), backlog=4096)
    listening.setblocking(False)
    loop, lines = asyncio.get_running_loop(), list[socket.socket]()
    frame = text_frame(b"x" * size)
    count = 0

    async def accept() -> None:
        while True:
            line, _ = await loop.sock_accept(listening)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line.setblocking(True)
            line.recv(4096)
            line.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
            line.setblocking(False)
            lines.append(line)

    async def tick(_number: int) -> None:
        nonlocal count
        for line in lines:
            os.write(line.fileno(), frame)
        count += len(lines)

    accepting = asyncio.create_task(accept())
    yield Sender(listening.getsockname()[1], lambda: len(lines), tick, lambda: (count, count * len(frame)))
    accepting.cancel()
    listening.close()
    for line in lines:
        line.close()


def sender_of(kind: str, size: int) -> contextlib.AbstractAsyncContextManager[Sender]:
    """The server of this kind that sends frames of so many bytes (Rankcast's are of its own size)."""
    if kind == "rankcast":
        return _rankcast()
    if kind == "bare":
        return _bare(size)
    return _starlette(size, prepared=kind == "prepared")
