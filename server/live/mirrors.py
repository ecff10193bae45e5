"""All the mirrors of this process, opened when somebody first asks for their board.

Owns their tasks and the one subscription that they share. A mirror once opened stays: the next viewer finds
it at hand. Neighbours: hub and REST open boards, `web/app.py` runs it.
"""

import asyncio
from typing import Protocol

from redis.asyncio import Redis

from server.core.board_name import BoardName, parse_board
from server.core.refusals import Refusal
from server.core.season import Season
from server.errors import RankcastError
from server.live.board_events import BoardEvents
from server.live.board_source import BoardSource
from server.live.follower import Follower
from server.live.mirror import Mirror
from server.live.own_client import own_client
from server.metrics import Metrics
from server.settings import Settings


class UnknownBoardError(RankcastError):
    """No board has this name, or no season this id."""

    def __init__(self, reason: str) -> None:
        super().__init__("unknown_board", reason)


class Catalog(Protocol):
    """Where seasons are looked up."""

    async def get(self, season_id: int) -> Season | None:
        """Return the season, None where there is none of this id."""


class Mirrors:
    """Opens mirrors while `run` runs."""

    def __init__(self, settings: Settings, metrics: Metrics, redis: Redis, catalog: Catalog) -> None:
        self._settings, self._metrics, self._catalog = settings, metrics, catalog
        self._redis = own_client(redis)
        self._events = BoardEvents(self._redis, metrics)
        self._mirrors: dict[str, Mirror] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._group: asyncio.TaskGroup | None = None
        self._running = asyncio.Event()

    def get(self, board: str) -> Mirror | None:
        """Return the board's mirror if it has been opened."""
        return self._mirrors.get(board)

    def all(self) -> list[Mirror]:
        """Return every mirror that has been opened."""
        return list(self._mirrors.values())

    async def open(self, board: str) -> Mirror:
        """Return the board's mirror once it is known whether Redis has the board, and its picture is here.

        Raises `UnknownBoardError`, and RankcastError `not_ready` where reading takes too long.
        """
        mirror = self._mirrors.get(board)
        if mirror is None:
            mirror = await self._opened(board)
        await mirror.ready(self._settings.mirror_ready_s)
        return mirror

    async def _opened(self, board: str) -> Mirror:
        name = parse_board(board)
        if isinstance(name, Refusal):
            raise UnknownBoardError(name.reason)
        season = await self._catalog.get(name.season_id)
        if season is None:
            raise UnknownBoardError(f"there is no season {name.season_id}")
        await self._are_running()
        if board not in self._mirrors:  # somebody else may have opened it meanwhile
            self._mirrors[board] = self._start(name, season)
        return self._mirrors[board]

    async def _are_running(self) -> None:
        try:
            async with asyncio.timeout(self._settings.mirror_ready_s):
                await self._running.wait()
        except TimeoutError:
            raise RankcastError("not_ready", "no board is opened before the start or after a stop") from None

    def _start(self, name: BoardName, season: Season) -> Mirror:
        assert self._group is not None
        mirror = Mirror(season, self._metrics, self._settings.mirror_waiting_rows)
        settings = self._settings
        source = BoardSource(self._redis, name, settings.mirror_timeout_s, settings.mirror_page)
        follower = Follower(mirror, source, self._events, settings, self._metrics)
        for work in (follower.run(), mirror.merge_when_due()):
            self._tasks.append(self._group.create_task(work))
        return mirror

    async def run(self, stop: asyncio.Event) -> None:
        """Keep the mirrors until `stop` is set. A task that dies ends it with its error."""
        async with self._redis, asyncio.TaskGroup() as self._group:
            self._tasks.append(self._group.create_task(self._events.run()))
            self._running.set()
            await stop.wait()
            self._running.clear()
            for task in self._tasks:
                task.cancel()
