"""A board as a page's server would tell it, acted beside the page's browser: for pictures of rare states.

Owns the frames of one page's socket and the answers to what the page asks beside it; the pages, their files
and their policy come from a real server. Neighbours: `scenes.py` says what is acted, `screenshots.py` takes
the pictures.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

from playwright.async_api import Page, Route, WebSocketRoute

from server.core import frames
from server.core.frames import Head, Rise
from server.core.rows import Row
from server.core.wire import Frame

EPOCH = "5f0c6e1d2a3b4c5d"
HEARTBEAT_MS = 600_000
SEASON = 12
NOW_MS = int(time.time() * 1000)
DAY_MS = 86_400_000
# fmt: off
HANDLES = (
    "kestrel", "nova_prime", "Tamsin", "Oko0", "Juniper", "grimlock", "Ayşe", "Łukasz", "Дмитрий", "Ελένη",
    "SORA-9", "blink182fan", "Þórunn", "quietstorm", "Vex", "mango_lassi", "Ingrid_", "0xFADE", "Pip",
    "TheLastBaron", "Zoë", "hexadecimal", "Rook", "Marigold",
)
# fmt: on


def rows_of(count: int, best: int = 98_140, seed: int = 4) -> list[Row]:
    """So many rows in order, ids from 1, points that fall as in a real season."""
    dice = Random(seed)
    points = best
    rows = []
    for player in range(1, count + 1):
        rows.append(Row(player, points, NOW_MS - 1000 * dice.randrange(40_000)))
        points -= dice.randrange(1, max(2, points // 40))
    return rows


def handles(rows: Sequence[Row]) -> dict[int, str]:
    """Names as players choose them, one each."""
    names = [f"{name}{turn or ''}" for turn in range(1 + len(rows) // len(HANDLES)) for name in HANDLES]
    return {row.player: name for row, name in zip(rows, names, strict=False)}


@dataclass
class Acted:
    """One season's board: what it says when it is asked, and what it says by itself (`say`)."""

    rows: Sequence[Row] = field(default_factory=lambda: rows_of(100))
    names: Mapping[int, str] | None = None
    total: int = 48_213
    season: str = "Autumn Ladder 2026"
    ends_ms: int = NOW_MS + 40 * DAY_MS
    own_rank: int | None = None  # of the player who is followed, where nobody of the rows is
    refuses: bool = False
    silent: bool = False
    results: float = 1843.2
    version: int = 481_223
    _sockets: list[WebSocketRoute] = field(default_factory=list)

    async def take(self, page: Page) -> None:
        """Answer for the server on this page from now on."""
        if self.names is None:
            self.names = handles(self.rows)
        await page.route_web_socket("**/ws", self._open)
        await page.route("**/seasons", self._tell(lambda: {"seasons": [self._definition()], "demo": None}))
        await page.route(f"**/seasons/{SEASON}/leaderboard/status", self._tell(self._status))
        await page.route("**/players?*", self._tell(self._found))

    def say(self, frame: Frame) -> None:
        """Send a frame to the page."""
        for socket in self._sockets:
            socket.send(frame.payload.decode())

    def lag(self, seconds: int) -> None:
        """The picture has not been right for so long."""
        self.say(frames.stale(f"s{SEASON}", "unreachable", int(time.time() * 1000) - 1000 * seconds))

    def close_season(self) -> None:
        """The season is over, its last picture follows."""
        self.say(frames.season(self._topic("top"), f"s{SEASON}", "closed"))
        self.say(self._snapshot())

    async def go_away(self) -> None:
        """End the line, and let nobody in any more."""
        self.silent = True
        for socket in self._sockets:
            await socket.close(code=1011)

    def move(self, changes: Mapping[int, int]) -> None:
        """Give these players these points: a new picture."""
        self.version += 1
        now = int(time.time() * 1000)
        rows = [row._replace(points=changes.get(row.player, row.points)) for row in self.rows]
        rows = [row._replace(achieved_ms=now) if row.player in changes else row for row in rows]
        self.rows = sorted(rows, key=lambda row: -row.points)
        self.say(self._snapshot())

    def rise(self, player: int, before: int | None, after: int) -> None:
        """Tell of a rank-up."""
        points = self.rows[min(after, len(self.rows)) - 1].points
        self.say(
            frames.rankup(self._topic("rankups"), EPOCH, self.version, Rise(player, points, before, after))
        )

    def stand(self, player: int, rank: int, radius: int) -> None:
        """The player who is followed stands elsewhere."""
        self.own_rank = rank
        self.version += 1
        self.say(self._around(player, radius))

    # -- what is asked

    def _tell(self, body: Callable[[], object]) -> Callable[[Route], Any]:
        async def answer(route: Route) -> None:
            await route.fulfill(json=body())

        return answer

    def _definition(self) -> dict[str, object]:
        times = {"starts_at": NOW_MS - 50 * DAY_MS, "ends_at": self.ends_ms}
        told = {name: datetime.fromtimestamp(ms / 1000, UTC).isoformat() for name, ms in times.items()}
        return {"season_id": SEASON, "board": f"s{SEASON}", "name": self.season, **told}

    def _status(self) -> dict[str, object]:
        return {
            "epoch": EPOCH,
            "version": self.version,
            "total": self.total,
            "resultsPerSecond": self.results,
            "lagRecords": 3,
            "refreshMs": 2000,
        }

    def _found(self) -> dict[str, object]:
        names = self.names or {}
        found = [
            {"playerId": row.player, "name": names.get(row.player), "rank": rank, "points": row.points}
            for rank, row in enumerate(self.rows[:6], 1)
        ]
        return {"players": [*found, {"playerId": 77, "name": "kestrelline", "rank": None, "points": None}]}

    def _open(self, socket: WebSocketRoute) -> None:
        self._sockets.append(socket)
        socket.on_message(lambda said: self._heard(socket, json.loads(said)))
        if not self.silent:
            socket.send(frames.welcome(HEARTBEAT_MS, {}).payload.decode())

    def _heard(self, socket: WebSocketRoute, command: dict[str, Any]) -> None:
        if not self.silent:
            for frame in self._answer(command):
                socket.send(frame.payload.decode())

    def _answer(self, command: dict[str, Any]) -> Iterator[Frame]:
        if command["op"] != "subscribe":
            yield frames.ok(command["id"])
            return
        if self.refuses:
            yield frames.error(command["id"], "unknown_board", "there is no such season", False)
            return
        view = command["view"]
        if view == "top":
            yield frames.ok(command["id"], self._topic("top"), False)
            yield self._snapshot()
        elif view == "around":
            player, radius = int(command["player"]), command["radius"]
            yield frames.ok(command["id"], self._topic(f"around/{player}/{radius}"), False)
            yield self._around(player, radius)
        else:
            yield frames.ok(command["id"], self._topic("rankups"), False)

    def _topic(self, view: str) -> str:
        return f"s{SEASON}/{view}"

    def _head(self, view: str) -> Head:
        return Head(self._topic(view), EPOCH, self.version, self.total)

    def _snapshot(self) -> Frame:
        return frames.snapshot(self._head("top"), self.rows, self.names or {})

    def _around(self, player: int, radius: int) -> Frame:
        head = self._head(f"around/{player}/{radius}")
        ranks = {row.player: rank for rank, row in enumerate(self.rows, 1)}
        rank = ranks.get(player, self.own_rank)
        if rank is None:
            return frames.around(head, None, [], {})
        first = max(1, rank - radius)
        if player in ranks:
            rows = list(self.rows[first - 1 : rank + radius])
            return frames.around(head, first, rows, self.names or {})
        rows = [self._deep(player, place - rank) for place in range(first, rank + radius + 1)]
        named = {row.player: HANDLES[row.player % len(HANDLES)] for row in rows}
        return frames.around(head, first, rows, {**named, player: "Marigold"})

    def _deep(self, player: int, places: int) -> Row:
        """A row so many places below the followed player's, far down the board."""
        return Row(player + 13 * places, 20_518 - 7 * places, NOW_MS - 3_600_000)
