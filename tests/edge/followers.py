"""A client of server-sent events by hand, so that it can stop reading."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.edge.screen import Said, Screen, Shown
from tests.edge.stage import BOARD, Stage
from tests.waiting import until


class Event(NamedTuple):
    """One event of the stream."""

    kind: str
    id: str | None
    frame: Said


@dataclass
class Follower:
    """One HTTP answer; events go to a screen."""

    socket: socket.socket
    head: str
    events: list[Event] = field(default_factory=list)
    retries: list[int] = field(default_factory=list)
    screen: Screen = field(default_factory=Screen)
    ended: bool = False
    _raw: bytes = b""
    _text: bytes = b""

    @property
    def status(self) -> int:
        return int(self.head.split(" ")[1])

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    async def read(self, size: int = 65_536) -> bool:
        """Read once and take what came; False at the end."""
        try:
            data = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(self.socket, size), 30)
        except ConnectionError:
            return False
        self._raw += data
        while not self.ended and (chunk := self._chunk()) is not None:
            self._text += chunk
            self.ended = not chunk
        while b"\n\n" in self._text:
            event, _, self._text = self._text.partition(b"\n\n")
            self._take(event.decode())
        return bool(data) and not self.ended

    def _chunk(self) -> bytes | None:
        size, mark, rest = self._raw.partition(b"\r\n")
        length = int(size, 16) if mark else 0
        if not mark or len(rest) < length + 2:
            return None
        self._raw = rest[length + 2 :]
        return rest[:length]

    def _take(self, event: str) -> None:
        fields = dict(line.split(": ", 1) for line in event.split("\n"))
        if "retry" in fields:
            self.retries.append(int(fields["retry"]))
        frame = json.loads(fields["data"])
        assert frame["type"] == fields["event"]
        self.events.append(Event(fields["event"], fields.get("id"), frame))
        if "topic" in frame:
            self.screen.topics.setdefault(frame["topic"], Shown())
        self.screen.take(frame)

    async def read_until(self, condition: Callable[[], object]) -> None:
        """Read on until the condition holds; the stream must not end before."""
        while not condition():
            assert await self.read(), "the stream ended"

    async def read_to_end(self) -> None:
        """Read until the server has ended the stream."""
        while await self.read():
            pass


async def ask(
    port: int, query: str = "", headers: str = "", receive_buffer: int = 0, method: str = "GET"
) -> Follower:
    """Ask for a stream of the board s12; `headers` end with CRLF each."""
    loop = asyncio.get_running_loop()
    line = socket.socket()
    if receive_buffer:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    line.setblocking(False)
    await loop.sock_connect(line, ("127.0.0.1", port))
    request = f"{method} /{BOARD}/stream?{query} HTTP/1.1\r\nHost: x\r\n{headers}\r\n"
    await loop.sock_sendall(line, request.encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += await asyncio.wait_for(loop.sock_recv(line, 1), 30)
    return Follower(line, answer.decode().lower())


@contextlib.asynccontextmanager
async def following(stage: Stage, query: str = "", **options: Any) -> AsyncIterator[Follower]:
    """A stream, left at the end."""
    one = await ask(stage.port, query, **options)
    try:
        yield one
    finally:
        one.socket.close()
        await until(lambda: not stage.server.server_state.tasks)
