"""Clients on real sockets: one that follows the protocol, and one that does as it likes with its bytes."""

import asyncio
import base64
import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.protocol import CLIENT, Protocol

from tests.edge.screen import Said, Screen, Shown
from tests.waiting import until


class Client:
    """A client that reads all the time, keeps its screen, and remembers every frame."""

    def __init__(self, line: ClientConnection) -> None:
        self.line = line
        self.screen = Screen()
        self.frames: list[Said] = []
        self._ids = 0
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for message in self.line:
                frame = json.loads(message, parse_constant=_refuse)
                self.frames.append(frame)
                self.screen.take(frame)

    async def done(self) -> None:
        """Wait until the connection has ended; raises what broke the protocol."""
        await asyncio.wait_for(asyncio.shield(self._reading), 30)
        await self.line.wait_closed()

    def check(self) -> None:
        """Raise what broke the protocol, if anything did."""
        if self._reading.done():
            self._reading.result()

    async def command(self, op: str, **fields: Any) -> Said:
        """Send a command and return its answer."""
        self._ids += 1
        number = self._ids
        await self.line.send(json.dumps({"id": number, "op": op, **fields}))
        return await self.find(lambda frame: frame.get("id") == number)

    async def find(self, wanted: Callable[[Said], bool]) -> Said:
        """Wait for the first frame, of all that came, for which this holds."""
        await until(lambda: any(map(wanted, self.frames)) or self._reading.done())
        self.check()
        return next(filter(wanted, self.frames))

    async def top(self, limit: int = 10, board: str = "s12", **fields: Any) -> Shown:
        """Subscribe to a top view, and return it once its first frame is here."""
        answer = await self.command("subscribe", board=board, view="top", limit=limit, **fields)
        assert answer["type"] == "ok", answer
        return await self._first(answer["topic"])

    async def around(self, player: int, radius: int = 2, board: str = "s12", **fields: Any) -> Shown:
        """Subscribe to a player's neighbourhood, and return it once its first frame is here."""
        wanted = {"board": board, "view": "around", "player": str(player), "radius": radius}
        answer = await self.command("subscribe", **wanted, **fields)
        assert answer["type"] == "ok", answer
        return await self._first(answer["topic"])

    async def _first(self, topic: str) -> Shown:
        await until(lambda: self.screen.shows(topic))
        return self.screen[topic]

    def of(self, kind: str) -> list[Said]:
        """The frames of one type that came."""
        return [frame for frame in self.frames if frame["type"] == kind]


REQUEST = (
    b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)) + b"\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


@contextlib.asynccontextmanager
async def client(port: int, **options: Any) -> AsyncIterator[Client]:
    """A connected client of protocol version 1."""
    options = {"subprotocols": ["rankcast.v1"], "max_size": None} | options
    async with connect(f"ws://127.0.0.1:{port}/ws", **options) as line:
        one = Client(line)
        try:
            yield one
            one.check()
        finally:
            await line.close()
            with contextlib.suppress(asyncio.CancelledError, AssertionError):
                await one._reading


class RawClient:
    """A socket after its handshake: reads only when told, and sends any bytes."""

    def __init__(self, line: socket.socket) -> None:
        self.socket = line
        self.screen = Screen()
        self.frames: list[Said] = []
        self.close: Frame | None = None
        self.control: list[Frame] = []
        self._parser = Protocol(CLIENT, max_size=None)

    @classmethod
    async def connect(cls, port: int, *, receive_buffer: int = 0, early: bytes = b"") -> "RawClient":
        """Open a WebSocket by hand; `early` bytes go out right behind the request."""
        loop = asyncio.get_running_loop()
        line = socket.socket()
        if receive_buffer:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        line.setblocking(False)
        await loop.sock_connect(line, ("127.0.0.1", port))
        await loop.sock_sendall(line, REQUEST)
        if early:
            await loop.sock_sendall(line, early)
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += await loop.sock_recv(line, 1)
        assert answer.startswith(b"HTTP/1.1 101"), answer
        return cls(line)

    async def send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def command(self, **fields: Any) -> None:
        await self.send(masked(Opcode.TEXT, json.dumps(fields).encode()))

    async def read(self, size: int = 65_536) -> bool:
        """Read once and take what came; False at the end of the stream."""
        try:
            data = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(self.socket, size), 30)
        except ConnectionError:
            return False
        if not data:
            return False
        self._parser.receive_data(data)
        assert self._parser.parser_exc is None, self._parser.parser_exc
        for event in self._parser.events_received():
            assert isinstance(event, Frame)
            self._take(event)
        return True

    def _take(self, event: Frame) -> None:
        if event.opcode is Opcode.TEXT:
            frame = json.loads(bytes(event.data))
            self.frames.append(frame)
            self.screen.take(frame)
        elif event.opcode is Opcode.CLOSE:
            self.close = event
        else:
            self.control.append(event)

    async def read_until(self, condition: Callable[[], object]) -> None:
        """Read on until the condition holds; the stream must not end before."""
        while not condition():
            assert await self.read(), "the stream ended"

    async def read_to_end(self) -> None:
        """Read until the server has closed."""
        while await self.read():
            pass

    @property
    def close_code(self) -> int | None:
        """The code of the close frame that came, None without one."""
        return None if self.close is None else int.from_bytes(bytes(self.close.data)[:2], "big")


def masked(opcode: Opcode, data: bytes = b"", *, fin: bool = True) -> bytes:
    """A client's frame in bytes."""
    return Frame(opcode, data, fin).serialize(mask=True)


@contextlib.asynccontextmanager
async def raw(port: int, **options: Any) -> AsyncIterator[RawClient]:
    """A raw client, its socket closed at the end."""
    one = await RawClient.connect(port, **options)
    try:
        yield one
    finally:
        one.socket.close()
