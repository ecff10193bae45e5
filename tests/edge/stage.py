"""A real server on a real port whose boards a test moves by hand: the whole edge without Redis and Kafka."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Generator, Mapping
from dataclasses import dataclass, field

import numpy as np
import uvicorn
from redis.asyncio import Redis
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from server.core.board_event import REMOVED, BoardEvent
from server.core.order import OrderedIndex
from server.core.rows import Row
from server.core.season import Season
from server.errors import RankcastError
from server.live import sse
from server.live.connection import Connection
from server.live.endpoint import serve_socket
from server.live.handshake import RankcastHttp, RankcastProtocol
from server.live.hub import Hub
from server.live.mirror import Mirror
from server.live.names import Names
from server.live.picture import Pictures
from server.metrics import Metrics
from server.settings import Settings
from tests.edge.clients import RawClient
from tests.waiting import until

BOARD = "s12"
DAY_US = 86_400_000_000


def season(season_id: int = 12) -> Season:
    """A season of 1970: a result of second n has the time n * 1000."""
    definition = {
        "season_id": season_id,
        "name": "edge",
        "starts_at": "1970-01-01T00:00:00Z",
        "ends_at": "2100-01-01T00:00:00Z",
        "operator": "best",
        "points_bits": 21,
        "time_bits": 32,
    }
    return Season.parse(definition, created_us=0)


class HandBoard:
    """A real mirror that the test feeds: each call is one version, as the submit script would make it."""

    def __init__(self, name: str, metrics: Metrics) -> None:
        self.mirror = Mirror(season(int(name[1:])), metrics, waiting_rows=100_000)
        self._epochs = 0
        self._second = 0

    def replace(self, points: Mapping[int, int], reason: str = "replaced") -> None:
        """Put another board in place: version 1 of a new epoch."""
        self._epochs += 1
        players = np.fromiter(points, np.int64, len(points))
        scores = np.fromiter(map(self._score, points.values()), np.int64, len(points))
        index = OrderedIndex.from_arrays(players, scores)
        self.mirror.install(f"{self._epochs:016x}", 1, index, reason)
        self.mirror.mark_fresh()

    def set(self, points: Mapping[int, int | None]) -> int:
        """Set players' points, each a second later than the last (None: remove); returns the version."""
        scores = [REMOVED if value is None else self._score(value) for value in points.values()]
        version = self.mirror.replica.heard + 1
        assert self.mirror.epoch is not None
        self.mirror.gather(BoardEvent(self.mirror.epoch, version, list(points), scores))
        return version

    def set_now(self, points: Mapping[int, int | None]) -> None:
        """The same, and the picture shows it at once."""
        self.set(points)
        self.mirror.show_gathered()

    def _score(self, points: int) -> int:
        self._second += 1
        return self.mirror.season.codec.encode(points, self._second * 1_000_000)

    def rows(self, count: int) -> list[Row]:
        """The best rows, gathered changes put in."""
        self.mirror.show_gathered()
        return self.mirror.rows(1, count)


class HandBoards:
    """The boards that there are; opening one can be made to wait."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self.boards: dict[str, HandBoard] = {}
        self.may_open = asyncio.Event()
        self.may_open.set()

    def add(self, name: str, points: Mapping[int, int] | None) -> HandBoard:
        """Add a board; without points there is none in Redis yet."""
        board = self.boards[name] = HandBoard(name, self._metrics)
        if points is None:
            board.mirror.mark_building()
        else:
            board.replace(points)
        return board

    async def open(self, board: str) -> Mirror:
        """As `Mirrors.open`."""
        await self.may_open.wait()
        if board not in self.boards:
            raise RankcastError("unknown_board", f"there is no board {board}")
        return self.boards[board].mirror


@dataclass
class NameStore:
    """Names that stand in the database; `reachable` unset, reading them waits."""

    stored: dict[int, str] = field(default_factory=dict)
    reachable: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reachable.set()

    async def names(self, ids: list[int]) -> dict[int, str]:
        self.asked.append(ids)
        await self.reachable.wait()
        return {player: self.stored[player] for player in ids if player in self.stored}


class QuietServer(uvicorn.Server):
    """uvicorn that leaves signals to pytest."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def port_of(server: QuietServer) -> int:
    """Where the server listens."""
    port: int = server.servers[0].sockets[0].getsockname()[1]
    return port


@dataclass
class Stage:
    """The running server and what a test moves."""

    settings: Settings
    metrics: Metrics
    boards: HandBoards
    store: NameStore
    names: Names
    hub: Hub
    server: QuietServer

    @property
    def port(self) -> int:
        return port_of(self.server)

    @property
    def board(self) -> HandBoard:
        return self.boards.boards[BOARD]

    def count(self, name: str, **labels: str) -> float:
        """The value of a metric."""
        return self.metrics.registry.get_sample_value(f"rankcast_{name}", labels) or 0.0

    async def stop(self) -> None:
        """Stop the server as its process would."""
        await self.hub.shutdown()
        self.server.should_exit = True


def connection_of(stage: Stage, viewer: RawClient) -> Connection:
    """The server's end of this client's socket."""
    name = viewer.socket.getsockname()
    found = [one for one in stage.hub.viewers if isinstance(one, Connection)]
    return next(one for one in found if one._line.get_extra_info("peername") == name)


def _app(hub: Hub) -> Starlette:
    async def socket(websocket: WebSocket) -> None:
        await serve_socket(websocket, hub)

    async def stream(request: Request) -> Response:
        return await sse.stream(request, hub, request.path_params["board"])

    async def refuse(_request: Request, error: Exception) -> Response:
        assert isinstance(error, RankcastError)
        return JSONResponse({"code": error.code, "detail": error.reason}, error.kind.status)

    routes = [WebSocketRoute("/ws", socket), Route("/{board}/stream", stream)]
    return Starlette(routes=routes, exception_handlers={RankcastError: refuse})


@contextlib.asynccontextmanager
async def serving(
    pictures: Pictures, store: NameStore, redis_url: str, chosen: Settings, metrics: Metrics
) -> AsyncIterator[tuple[Hub, Names, QuietServer]]:
    """A server of these pictures on a free port."""
    stop = asyncio.Event()
    async with Redis.from_url(redis_url) as redis:
        names = Names(store, redis, chosen, metrics)
        hub = Hub(chosen, metrics, pictures, names)
        server = QuietServer(
            uvicorn.Config(
                _app(hub),
                port=0,
                ws=RankcastProtocol,
                http=RankcastHttp,
                lifespan="off",
                log_config=None,
                timeout_graceful_shutdown=3,
            )
        )
        tasks = [asyncio.create_task(work) for work in (hub.run(stop), names.run(stop), server.serve())]
        await until(lambda: server.started)
        try:
            yield hub, names, server
        finally:
            server.should_exit = server.force_exit = True
            stop.set()
            await asyncio.gather(*tasks)


@contextlib.asynccontextmanager
async def running(
    points: Mapping[int, int] | None = None, *, redis_url: str = "redis://127.0.0.1:1/0", **settings: object
) -> AsyncIterator[Stage]:
    """A server with the board s12, its ticks short; names come from memory unless a Redis is named."""
    chosen = Settings.model_validate({"tick_ms": 20, "around_tick_ms": 50} | settings)
    metrics, store = Metrics(), NameStore()
    boards = HandBoards(metrics)
    boards.add(BOARD, points)
    async with serving(boards, store, redis_url, chosen, metrics) as (hub, names, server):
        yield Stage(chosen, metrics, boards, store, names, hub, server)
