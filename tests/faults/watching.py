"""Who looks on while things break: a viewer on the socket, a reader by REST, a probe of readiness."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import httpx
import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, WebSocketException

from server.core.rows import checksum
from tests.faults.roles import http_client
from tests.waiting import until
from tests.whole.viewer import Viewer

LIMIT = 100
RETRY_SECONDS = 0.2


class Background:
    """A task that a test owns; what ended it is raised by `check`."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    def begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run `work` until `close`."""
        self._task = asyncio.create_task(work())

    def check(self) -> None:
        """Raise what ended the task, if something did."""
        if self._task is not None and self._task.done():
            self._task.result()

    async def close(self) -> None:
        """End it; raises what had ended it before."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task


class Seat(Viewer):
    """A viewer of one board who holds the server to the protocol's promises, over all connections."""

    def __init__(self, board: str) -> None:
        super().__init__()
        self.board = board
        self.topic = f"{board}/top/{LIMIT}"
        self.epochs: list[str] = []
        self.resumed: list[bool] = []
        self.seasons: list[str] = []  # reasons of `season` frames
        self.stale: str | None = None
        self.stales: list[str] = []  # reasons of `stale` frames
        self._seen: dict[tuple[str | None, int], int] = {}

    def take(self, frame: dict[str, Any]) -> None:
        """Apply a frame; AssertionError where it breaks a promise."""
        before = self.epoch, self.version, len(self.rows)
        super().take(frame)
        match frame["type"]:
            case "stale":
                self.stale = frame["reason"]
                self.stales.append(frame["reason"])
            case "fresh":
                self.stale = None
            case "season":
                self.seasons.append(frame["reason"])
            case "snapshot" | "diff":
                self._judge(before)

    def _judge(self, before: tuple[str | None, int, int]) -> None:
        epoch, version, rows = before
        assert self.rows or not rows, f"{self.board} was shown empty at {self.epoch}, {self.version}"
        if self.epoch != epoch:
            assert self.epoch not in self.epochs, f"epoch {self.epoch} of {self.board} came back"
            self.epochs += [self.epoch] if self.epoch else []
        else:
            assert self.version >= version, f"{self.board} went from {version} back to {self.version}"
        crc = checksum(self.rows)
        shown = self._seen.setdefault((self.epoch, self.version), crc)
        assert shown == crc, f"two pictures of {self.board} at {self.epoch}, {self.version}"


class Watching(Background):
    """One socket with a seat on each board; comes back after every cut and resumes, as the page does."""

    def __init__(self, url: str, boards: list[str]) -> None:
        super().__init__()
        self.seats = {board: Seat(board) for board in boards}
        self.connections = 0
        self.byes: list[int] = []  # codes of `bye` frames
        self.closes: list[int | None] = []  # how each connection ended; 1006: without a word
        self._url = url
        self._topics = {seat.topic: seat for seat in self.seats.values()}

    async def open(self) -> None:
        """Begin; returns with the first picture of each board."""
        self.begin(self._run)
        await until(self._has_pictures, within=30)

    def _has_pictures(self) -> bool:
        self.check()
        return all(seat.epoch is not None for seat in self.seats.values())

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(OSError, TimeoutError, WebSocketException, InvalidHandshake):
                async with connect(self._url, subprotocols=["rankcast.v1"], max_size=None) as socket:  # type: ignore[list-item]  # a NewType of str
                    self.connections += 1
                    try:
                        await self._follow(socket)
                    finally:
                        self.closes.append(socket.close_code)
            await asyncio.sleep(RETRY_SECONDS)

    async def _follow(self, socket: ClientConnection) -> None:
        for number, seat in enumerate(self.seats.values()):
            wish = {"id": number, "op": "subscribe", "board": seat.board, "view": "top", "limit": LIMIT}
            if seat.epoch is not None:
                wish["have"] = {"epoch": seat.epoch, "version": seat.version}
            await socket.send(orjson.dumps(wish).decode())
        async for message in socket:
            self._take(orjson.loads(message))

    def _take(self, frame: dict[str, Any]) -> None:
        match frame["type"]:
            case "bye":
                self.byes.append(frame["code"])
            case "error":
                raise AssertionError(f"refused: {frame}")
            case "ok" if "topic" in frame:
                seat = self._topics[frame["topic"]]
                seat.resumed.append(frame["resumed"])
                seat.stale = None  # where the picture lags, `stale` comes with the first frame
            case "stale" | "fresh":
                self.seats[frame["board"]].take(frame)
            case "snapshot" | "diff" | "season":
                self._topics[frame["topic"]].take(frame)


class Reader(Background):
    """Reads one board's top by REST again and again; what did not answer 200 or 304 is kept."""

    def __init__(self, url: str, season_id: int) -> None:
        super().__init__()
        self.answers: Counter[int] = Counter()
        self.failures: list[str] = []
        self.slowest_s = 0.0
        self._url = f"{url}/seasons/{season_id}/leaderboard/top?limit={LIMIT}"

    def open(self) -> None:
        """Begin."""
        self.begin(self._run)

    async def _run(self) -> None:
        tag = ""
        async with http_client() as client:
            while True:
                began = time.monotonic()
                try:
                    answer = await client.get(self._url, headers={"If-None-Match": tag})
                    self.answers[answer.status_code] += 1
                    tag = answer.headers.get("etag", "")
                    if answer.status_code not in (200, 304):
                        self.failures.append(f"{answer.status_code} {answer.text}")
                except httpx.TransportError as error:
                    self.failures.append(repr(error))
                self.slowest_s = max(self.slowest_s, time.monotonic() - began)
                await asyncio.sleep(RETRY_SECONDS)


@dataclass(frozen=True)
class Status:
    """What `/readyz` said from `at` (monotonic seconds) on; `status` None: it did not answer."""

    at: float
    status: int | None
    reasons: dict[str, str] = field(default_factory=dict)  # of the parts that are not ready


class Readiness(Background):
    """Asks one process's `/readyz` ten times a second and keeps each change."""

    def __init__(self, url: str, last_words: Callable[[], str] = str) -> None:
        super().__init__()
        self.changes: list[Status] = []
        self._url = f"{url}/readyz"
        self._last_words = last_words  # of a process that has ended

    def open(self) -> None:
        """Begin."""
        self.begin(self._run)

    @property
    def now(self) -> Status:
        """What it said last."""
        return self.changes[-1]

    async def says(self, part: str, word: str = "", *, within: float = 10.0) -> None:
        """Wait until the part is said not to be ready, for a reason with this word in it."""
        try:
            await until(lambda: word in self.now.reasons.get(part, "-"), within=within, every=0.02)
        except AssertionError:
            raise AssertionError(
                f"/readyz said {self.changes}, of {part} never {word!r}; {self._last_words()}"
            ) from None

    async def ready(self, *, within: float = 30.0) -> None:
        """Wait until it says 200."""
        try:
            await until(lambda: self.now.status == 200, within=within, every=0.02)
        except AssertionError:
            raise AssertionError(f"/readyz is not ready: {self.now}; {self._last_words()}") from None

    def blamed(self, since: float) -> set[str]:
        """Parts that were called not ready since then, but for a busy machine's late answer."""
        return {
            part
            for change in self.changes
            for part, reason in change.reasons.items()
            if change.at >= since and not reason.startswith("no answer within")
        }

    def stayed_ready(self, since: float) -> bool:
        """Whether it has said 200 alone since then."""
        return all(change.status == 200 for change in self.changes if change.at >= since)

    async def _run(self) -> None:
        async with httpx.AsyncClient(timeout=5) as client:
            while True:
                found = await self._ask(client)
                if not self.changes or (found.status, found.reasons) != (self.now.status, self.now.reasons):
                    self.changes.append(found)
                await asyncio.sleep(0.1)

    async def _ask(self, client: httpx.AsyncClient) -> Status:
        try:
            answer = await client.get(self._url)
        except httpx.TransportError:
            return Status(time.monotonic(), None)
        parts: dict[str, dict[str, Any]] = answer.json()["parts"]
        reasons = {name: part["reason"] for name, part in parts.items() if not part["ready"]}
        return Status(time.monotonic(), answer.status_code, reasons)
