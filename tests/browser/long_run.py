"""A board that plays for a day: frames as the server makes them, to a page whose clock the test moves.

Every diff brings a player who was never there before, so that whatever is kept by player shows.
"""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from playwright.async_api import Page, WebSocketRoute

from server.core import frames
from server.core.diff import difference
from server.core.frames import Head, Rise
from server.core.rows import Row
from server.core.wire import Frame

EPOCH = "5f0c6e1d2a3b4c5d"
LIMIT = 100
KEPT = 150
HEARTBEAT_MS = 600_000  # the clock jumps over minutes: that is no silence
STARTED_MS = 1_790_000_000_000
MOST = 1_500_000  # points


class Play:
    """A board on which players come, rise and go; as many at any time."""

    def __init__(self, board: str) -> None:
        self._random = Random(4)
        self._board = board
        self._version = 1
        self._newest = KEPT
        self._rows = [Row(player, 10 * (KEPT - player), STARTED_MS) for player in range(KEPT)]

    @property
    def position(self) -> str:
        """As pages tell it."""
        return f"{EPOCH}-{self._version}"

    @property
    def top(self) -> list[Row]:
        """The best, in order."""
        return self._rows[:LIMIT]

    def rows(self, count: int) -> list[tuple[int, str, int]]:
        """The best as pages show them: rank, name, points."""
        return [(rank, _name(row.player), row.points) for rank, row in enumerate(self._rows[:count], 1)]

    def _head(self, view: str) -> Head:
        return Head(f"{self._board}/{view}", EPOCH, self._version, 10_000_000)

    def snapshot(self) -> Frame:
        """The view as it is."""
        return frames.snapshot(self._head(f"top/{LIMIT}"), self.top, _names(self.top))

    def step(self) -> Iterator[Frame]:
        """A new player comes in somewhere, four rise: the diff, and a rank-up where it was among the best."""
        before = self.top
        self._newest += 1
        self._version += 1
        self._rows = self._after(self._newest)
        change = difference(before, self.top)
        named = _names([placed.row for placed in change.put])
        yield frames.diff(self._head(f"top/{LIMIT}"), self._version - 1, change, self.top, named)
        for rank, row in enumerate(self.top, 1):
            if row.player == self._newest:
                rise = Rise(row.player, row.points, None, rank)
                yield frames.rankup(f"{self._board}/rankups", EPOCH, self._version, rise)

    def _after(self, newest: int) -> list[Row]:
        best = self._rows[0].points
        at = STARTED_MS + 1000 * self._version
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
    """A page that shows a play; its clock stands still until it is told to go on."""

    def __init__(self, page: Page, play: Play) -> None:
        self.page = page
        self.play = play
        self._line: WebSocketRoute | None = None

    async def begin(self, address: str) -> None:
        """Load the page at a clock of ours, with the play instead of the server's frames."""
        await self.page.clock.install()
        await self.page.route_web_socket("**/ws", self._take)
        await self.page.goto(address)

    def _take(self, line: WebSocketRoute) -> None:
        self._line = line
        line.on_message(lambda said: self._answer(line, json.loads(said)))
        line.send(frames.welcome(HEARTBEAT_MS, {"commands_s": 20}).payload.decode())

    def _answer(self, line: WebSocketRoute, command: dict[str, Any]) -> None:
        for frame in self.play.answer(command):
            line.send(frame.payload.decode())

    async def go_on(self, steps: int, ms: int) -> None:
        """So many steps of the play, and then so many milliseconds pass."""
        assert self._line is not None
        for _ in range(steps):
            for frame in self.play.step():
                self._line.send(frame.payload.decode())
        await self.page.clock.run_for(50)
        await self.page.clock.fast_forward(ms)
