"""What a frame to a viewer costs the server, and what an idle viewer takes of its memory.

Owns four servers that send frames of one size to the same number of sockets at the same tick: bare
`write(2)`, Starlette's `send_text`, uvicorn's own class with prepared bytes, and Rankcast with everything on
(board, diff, encoding, hub). Each runs in a process of its own; CPU is that process's, user and system.
Neighbours: `python -m bench.fanout` runs it alone.
"""

import asyncio
import contextlib
import gc
import multiprocessing
import os
import resource
import select
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np
import uvicorn
import uvloop
from redis.asyncio import Redis
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from bench.report import Say, Table, progress, spread
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

SOCKETS, TICK_S, SECONDS, RUNS = 2_000, 0.1, 3.0, 3
IDLE_SOCKETS = 5_000
PLAYERS, CHANGES = 2_000, 18  # of a tick; a frame of about 650 bytes
BOARD = "s12"
REQUEST = (
    b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
)
SUBSCRIBE = b'{"id":1,"op":"subscribe","board":"s12","view":"top","limit":100}'


class Cost(NamedTuple):
    """What one run took: messages, CPU seconds of the server process, bytes of a message."""

    messages: int
    cpu_s: float
    size: float


# -- the servers, each in a process of its own


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


def _sender(kind: str, size: int) -> contextlib.AbstractAsyncContextManager[Sender]:
    if kind == "rankcast":
        return _rankcast()
    if kind == "bare":
        return _bare(size)
    return _starlette(size, prepared=kind == "prepared")


def serve(kind: str, size: int, pipe: Connection) -> None:
    """Run one server; answer the pipe: `rss`, `count`, `run` (a Cost), `end`."""

    async def work() -> None:
        loop = asyncio.get_running_loop()
        number = 0
        async with _sender(kind, size) as sender:
            pipe.send(sender.port)
            while True:
                order = await loop.run_in_executor(None, pipe.recv)
                if order == "end":
                    return
                if order == "count":
                    pipe.send(sender.viewers())
                elif order == "rss":
                    gc.collect()
                    pipe.send(_rss())
                else:
                    pipe.send(await _run(sender, number))
                    number += int(SECONDS / TICK_S)

    uvloop.run(work())


async def _run(sender: Sender, first: int) -> Cost:
    loop = asyncio.get_running_loop()
    (sent, size), used, begun = sender.sent(), _cpu(), loop.time()
    for number in range(int(SECONDS / TICK_S)):
        await sender.tick(first + number)
        await asyncio.sleep(max(0.0, begun + (number + 1) * TICK_S - loop.time()))
    used = _cpu() - used
    messages = sender.sent()[0] - sent
    return Cost(int(messages), used, (sender.sent()[1] - size) / max(messages, 1))


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _rss() -> int:
    with open("/proc/self/statm") as file:  # noqa: PTH123  /proc is no place for pathlib
        return int(file.read().split()[1]) * resource.getpagesize()


# -- the viewers, in another process


def drain(port: int, count: int, pipe: Connection) -> None:
    """Open `count` viewers, then read and forget whatever comes until the pipe says anything."""
    poll, lines = select.epoll(), {}
    for _ in range(count):
        line = socket.create_connection(("127.0.0.1", port), timeout=10)
        line.sendall(REQUEST)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += line.recv(65_536)
        line.sendall(bytes((0x81, 0x80 | len(SUBSCRIBE), 0, 0, 0, 0)) + SUBSCRIBE)  # masked with zeros
        line.setblocking(False)
        lines[line.fileno()] = line
        poll.register(line, select.EPOLLIN)
    pipe.send("ready")
    while not pipe.poll():
        for number, _ in poll.poll(0.05):
            with contextlib.suppress(BlockingIOError, ConnectionError):
                lines[number].recv(262_144)


# -- the benchmark

_context = multiprocessing.get_context("spawn")


class Pair:
    """One server with its viewers."""

    def __init__(self, kind: str, size: int, count: int) -> None:
        self.server, theirs = _context.Pipe()
        self._processes = [_context.Process(target=serve, args=(kind, size, theirs), daemon=True)]
        self._processes[0].start()
        port = self.server.recv()
        self.rss_before = self.ask("rss")
        self._viewers, theirs = _context.Pipe()
        self._processes.append(_context.Process(target=drain, args=(port, count, theirs), daemon=True))
        self._processes[1].start()
        self._viewers.recv()
        while self.ask("count") < count:
            time.sleep(0.05)

    def ask(self, order: str) -> Any:
        """Give the server an order and return its answer."""
        self.server.send(order)
        return self.server.recv()

    def end(self) -> None:
        """End both processes."""
        self._viewers.send("end")
        self.server.send("end")
        for process in self._processes:
            process.join(10)
            process.kill()


KINDS = {
    "bare": "bare `write(2)`",
    "rankcast": "Rankcast, everything on",
    "prepared": "uvicorn's class, prepared bytes by `transport.write`",
    "text": "Starlette `send_text`",
}


def run(quick: bool, say: Say) -> list[Table]:
    """Measure all servers in turns, and hand back the two tables."""
    runs, sockets, idle = (1, 200, 500) if quick else (RUNS, SOCKETS, IDLE_SOCKETS)
    return [_frames(runs, sockets, say), _memory(idle, say)]


def _frames(runs: int, sockets: int, say: Say) -> Table:
    say("finding the size of a frame")
    size = _frame_size()
    rates: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for number in range(runs):
        for kind, name in KINDS.items():
            say(f"run {number + 1} of {runs}: {name}")
            pair = Pair(kind, size, sockets)
            cost: Cost = pair.ask("run")
            pair.end()
            rates[kind].append(cost.messages / cost.cpu_s)
    table = Table(
        f"Frames to {sockets:,} viewers at a tick of {TICK_S * 1000:.0f} ms, {size:,} bytes each",
        ("", "messages per CPU second, median (least to most)", "microseconds each"),
    )
    for kind, name in KINDS.items():
        each = [1e6 / rate for rate in rates[kind]]
        table.add(name, spread(rates[kind]), spread(each, digits=1))
    table.notes.append(f"CPU of the server process, user and system; {runs} runs of {SECONDS:g} s, in turns.")
    return table


def _frame_size() -> int:
    pair = Pair("rankcast", 0, 1)
    cost: Cost = pair.ask("run")
    pair.end()
    return round(cost.size)


def _memory(sockets: int, say: Say) -> Table:
    table = Table(f"Memory of an idle viewer, {sockets:,} of them", ("", "bytes of the server process each"))
    for kind in ("rankcast", "text"):
        say(f"{sockets} idle viewers: {KINDS[kind]}")
        pair = Pair(kind, 100, sockets)
        table.add(KINDS[kind], f"{(pair.ask('rss') - pair.rss_before) / sockets:,.0f}")
        pair.end()
    table.notes.append("Growth of the resident set; what the kernel holds for a socket is not in it.")
    return table


if __name__ == "__main__":
    for made in run(quick=False, say=progress("fanout")):
        print(made.markdown(), end="\n\n")
