"""A board that plays without end: frames as the server makes them, as fast as a test wants them.

Every diff brings a player who was never there before, so that whatever is kept by player shows.
"""

import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from random import Random
from typing import Any

from websockets.asyncio.server import ServerConnection, broadcast, serve
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from server.core import frames
from server.core.diff import difference
from server.core.frames import Head, Rise
from server.core.rows import Row
from server.core.wire import Frame
from tests.browser.wire import HOST, wire

EPOCH = "5f0c6e1d2a3b4c5d"
LIMIT = 100
KEPT = 150
HEARTBEAT_MS = 600_000  # tests let the clock jump over minutes: that is no silence
STARTED_MS = 1_790_000_000_000
MOST = 1_500_000  # points


class Play:
    """A board on which players come, rise and go; as many at any time."""

    def __init__(self, board: str) -> None:
        self._random = Random(4)
        self._board = board
        self.version = 1  # that of the frames so far
        self._newest = KEPT
        self._rows = [Row(player, 10 * (KEPT - player), STARTED_MS) for player in range(KEPT)]

    @property
    def position(self) -> str:
        """As pages tell it."""
        return f"{EPOCH}-{self.version}"

    @property
    def top(self) -> list[Row]:
        """The best, in order."""
        return self._rows[:LIMIT]

    def rows(self, count: int) -> list[tuple[int, str, int]]:
        """The best as pages show them: rank, name, points."""
        return [(rank, _name(row.player), row.points) for rank, row in enumerate(self._rows[:count], 1)]

    def _head(self, view: str) -> Head:
        return Head(f"{self._board}/{view}", EPOCH, self.version, 10_000_000)

    def snapshot(self) -> Frame:
        """The view as it is."""
        return frames.snapshot(self._head(f"top/{LIMIT}"), self.top, _names(self.top))

    def step(self) -> Iterator[Frame]:
        """A new player comes in somewhere, four rise: the diff, and a rank-up where it was among the best."""
        before = self.top
        self._newest += 1
        self.version += 1
        self._rows = self._after(self._newest)
        change = difference(before, self.top)
        named = _names([placed.row for placed in change.put])
        yield frames.diff(self._head(f"top/{LIMIT}"), self.version - 1, change, self.top, named)
        for rank, row in enumerate(self.top, 1):
            if row.player == self._newest:
                rise = Rise(row.player, row.points, None, rank)
                yield frames.rankup(f"{self._board}/rankups", EPOCH, self.version, rise)

    def _after(self, newest: int) -> list[Row]:
        best = self._rows[0].points
        at = STARTED_MS + 1000 * self.version
        rows = {row.player: row for row in self._rows[: KEPT - 1]}
        for player in self._random.sample(sorted(rows), 4):
            rows[player] = Row(player, rows[player].points + self._random.randrange(best // 8), at)
        rows[newest] = Row(newest, self._random.randrange(best), at)
        if best > MOST:  # there is no more to be had: all lose as much
            rows = {player: Row(player, row.points // 1_000, row.achieved_ms) for player, row in rows.items()}
        return sorted(rows.values(), key=lambda row: (-row.points, row.achieved_ms, row.player))

    def answer(self, command: dict[str, Any]) -> Iterator[Frame]:
        """What the server says to a command."""
        if command["op"] != "subscribe":
            yield frames.ok(command["id"])
            return
        view = command["view"]
        topic = {"top": f"top/{LIMIT}"}.get(view, view)
        yield frames.ok(command["id"], f"{self._board}/{topic}", False)
        if view == "top":
            yield self.snapshot()
        elif view == "around":
            yield frames.around(self._head(topic), None, [], {})


def _names(rows: list[Row]) -> dict[int, str]:
    return {row.player: _name(row.player) for row in rows}


def _name(player: int) -> str:
    return f"Player {player} of the day"


class Screening:
    """The only server of WebSockets on a line; pages that come over it see the play."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self._viewers: set[ServerConnection] = set()

    async def serve(self, viewer: ServerConnection) -> None:
        """One page, for as long as it stays."""
        self._viewers.add(viewer)
        with contextlib.suppress(ConnectionClosed):
            await viewer.send(_text(frames.welcome(HEARTBEAT_MS, {})))
            async for said in viewer:
                for frame in self._play.answer(json.loads(said)):
                    await viewer.send(_text(frame))
        self._viewers.discard(viewer)

    def go_on(self, steps: int) -> None:
        """So many steps of the play."""
        for _ in range(steps):
            for frame in self._play.step():
                broadcast(self._viewers, _text(frame))


def _text(frame: Frame) -> str:
    return frame.payload.decode()


@contextlib.asynccontextmanager
async def screening(target: int, play: Play) -> AsyncIterator[tuple[str, Screening]]:
    """A way to the server at this port for everything but WebSockets, which see the play: its address."""
    made = Screening(play)
    protocol = [Subprotocol(frames.PROTOCOL)]
    async with (
        serve(made.serve, HOST, 0, subprotocols=protocol, compression=None) as server,
        wire(target) as line,
    ):
        line.sockets_to = next(iter(server.sockets)).getsockname()[1]
        yield line.url, made
