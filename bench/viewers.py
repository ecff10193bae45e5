"""Many viewers of one board in a process of their own: they take all frames, and some look into them.

Owns the sockets and the note of when which player was first seen with which points, by the clock that all
processes of a machine share. Never judges: `latency.py` knows when what was sent.
"""

import base64
import gc
import os
import select
import socket
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

import orjson

from server.core.wire import PING

LOOK_SECONDS = 0.2
_TEXT, _PING_CODE, _CLOSE = 0x81, 0x89, 0x88
_MASKED_PONG = b"\x8a\x80\x00\x00\x00\x00"


@dataclass
class Seen:
    """What one run's viewers saw. Times are monotonic nanoseconds."""

    sightings: list[tuple[int, int, int, int]] = field(default_factory=list)  # viewer, player, points, time
    arrivals: list[list[int]] = field(default_factory=list)  # of the frames of each viewer who looks
    frames: int = 0
    size: int = 0
    cpu_s: float = 0.0


class _Viewer:
    """One socket. What it has not understood yet is in `rest`."""

    __slots__ = ("arrivals", "line", "looks", "number", "rest")

    def __init__(self, number: int, line: socket.socket, looks: bool) -> None:
        self.number, self.line, self.looks = number, line, looks
        self.rest = b""
        self.arrivals: list[int] = []


@dataclass(frozen=True)
class Crowding:
    """How many viewers watch which board, and how many of them look for which players."""

    port: int
    board: str
    limit: int
    count: int
    lookers: int
    players: Collection[int]


def view(pipe: Connection, wanted: Crowding) -> None:
    """Open the viewers, and answer the pipe until it says `end`.

    Says `ready` when all have their first frame; each `take` is answered by what was seen since the last.
    """
    os.setsid()  # the kernel may share cores out by session: the viewers do not take their sender's
    every = max(1, wanted.count // wanted.lookers)
    viewers = {}
    poll = select.epoll()
    for number in range(wanted.count):
        line = _opened(wanted)
        viewers[line.fileno()] = _Viewer(number, line, number % every == every // 2)
        poll.register(line, select.EPOLLIN)
    crowd = _Crowd(viewers, {str(player) for player in wanted.players})
    while crowd.seen.frames < wanted.count:
        crowd.read(poll.poll(LOOK_SECONDS))
    crowd.take()
    gc.collect()
    gc.freeze()  # viewers who pause would be taken for late frames
    pipe.send("ready")
    while True:
        crowd.read(poll.poll(LOOK_SECONDS))
        if pipe.poll():
            if pipe.recv() == "end":
                return
            pipe.send(crowd.take())


class _Crowd:
    """All viewers of the process."""

    def __init__(self, viewers: dict[int, _Viewer], players: Collection[str]) -> None:
        self._viewers = viewers
        self._players = players
        self._cpu_s = time.process_time()
        self.seen = Seen()

    def take(self) -> Seen:
        """What was seen since the last call."""
        seen, self.seen = self.seen, Seen()
        for viewer in self._viewers.values():
            if viewer.looks:
                seen.arrivals.append(viewer.arrivals)
                viewer.arrivals = []
        now = time.process_time()
        seen.cpu_s, self._cpu_s = now - self._cpu_s, now
        return seen

    def read(self, ready: list[tuple[int, int]]) -> None:
        """Take what has come."""
        for number, _ in ready:
            viewer = self._viewers[number]
            data = viewer.line.recv(262_144)
            if not data:
                raise ConnectionError(f"viewer {viewer.number} was sent away")
            self._understand(viewer, data, time.monotonic_ns())

    def _understand(self, viewer: _Viewer, data: bytes, now: int) -> None:
        self.seen.size += len(data)
        data = viewer.rest + data if viewer.rest else data
        at = 0
        while (head := _header(data, at)) is not None:
            start, end = head
            if end > len(data):
                break
            if data[at] == _TEXT:
                self._frame(viewer, data, start, end, now)
            elif data[at] == _PING_CODE and data[at : at + 2] == PING:
                viewer.line.send(_MASKED_PONG)
            elif data[at] == _CLOSE:
                raise ConnectionError(f"viewer {viewer.number} was closed: {data[start:end]!r}")
            at = end
        viewer.rest = data[at:]

    def _frame(self, viewer: _Viewer, data: bytes, start: int, end: int, now: int) -> None:
        if not data.startswith((b'{"type":"diff"', b'{"type":"snapshot"'), start):
            return
        self.seen.frames += 1
        if not viewer.looks:
            return
        viewer.arrivals.append(now)
        for player, points, *_ in orjson.loads(data[start:end]).get("set", ()):
            if player in self._players:
                self.seen.sightings.append((viewer.number, int(player), points, now))


def _header(data: bytes, at: int) -> tuple[int, int] | None:
    """Where the payload of the frame at `at` begins and ends; None: more bytes are needed to tell."""
    left = len(data) - at
    if left < 2:
        return None
    size = data[at + 1]
    if size < 126:
        return at + 2, at + 2 + size
    width = 2 if size == 126 else 8
    if left < 2 + width:
        return None
    start = at + 2 + width
    return start, start + int.from_bytes(data[at + 2 : start])


def _opened(wanted: Crowding) -> socket.socket:
    """A WebSocket with a subscription under way."""
    line = socket.create_connection(("127.0.0.1", wanted.port), timeout=10)
    key = base64.b64encode(os.urandom(16))
    line.sendall(
        b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: rankcast.v1\r\nSec-WebSocket-Key: "
        + key
        + b"\r\n\r\n"
    )
    subscribe = orjson.dumps(
        {"id": 1, "op": "subscribe", "board": wanted.board, "view": "top", "limit": wanted.limit}
    )
    assert len(subscribe) < 126
    line.sendall(bytes((_TEXT, 0x80 | len(subscribe), 0, 0, 0, 0)) + subscribe)  # masked with zeros
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += line.recv(1)
    if not answer.startswith(b"HTTP/1.1 101"):
        raise ConnectionError(answer.decode())
    line.setblocking(False)
    return line
