"""What a mirror reads from Redis: where the board stands, its players page by page, and its change log.

Owns the mapping from a board's name to its keys, and a deadline on every read. Changes nothing in Redis,
and leaves to the mirror what an answer means.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from redis.asyncio import Redis

from server.board.keys import BoardKeys
from server.board.position import text
from server.board.scripts import Script
from server.core.board_event import BoardEvent, parse_event
from server.core.board_name import BoardName
from server.core.codec import MAX_SCORE
from server.core.member_order import Int64s

_LOG_PAGE = 100  # entries of the change log in one read, each of up to 500 rows


class BoardUnreadableError(Exception):
    """The board in Redis holds what no script of ours writes; somebody has to remove it."""


@dataclass(frozen=True, slots=True)
class Head:
    """A board at one instant: position and number of players."""

    epoch: str
    version: int
    players: int


@dataclass(frozen=True, slots=True)
class SourceKeys:
    """Where a mirror reads: a board's players are its own, position, log and events are its season's."""

    zset: str
    meta: str
    log: str
    events: str

    @classmethod
    def of(cls, board: BoardName) -> "SourceKeys":
        """The keys behind a board's name."""
        season = BoardKeys(board.season_id)
        return cls(season.zset, season.meta, season.log, season.events)


class BoardSource:
    """One board in Redis. Every method raises RedisError or OSError when Redis does not answer in time."""

    def __init__(self, redis: Redis, board: BoardName, deadline_s: float, page: int) -> None:
        self.keys = SourceKeys.of(board)
        self._redis = redis
        self._deadline_s = deadline_s
        self._page = page
        self._scan = Script.load("scan")

    async def head(self) -> Head | None:
        """Return where the board stands now, None where there is no board."""
        async with asyncio.timeout(self._deadline_s), self._redis.pipeline(transaction=True) as pipe:
            pipe.hmget(self.keys.meta, ["epoch", "version"])
            pipe.zcard(self.keys.zset)
            (epoch, version), count = await pipe.execute()
        return None if epoch is None or version is None else Head(text(epoch), int(version), count)

    async def pages(self) -> AsyncIterator[tuple[Int64s, Int64s]]:
        """Yield players and scores, some thousands at a time: everybody who is there throughout, some twice.

        Raises `BoardUnreadableError` for a member that is no player id, or a score that is none.
        """
        cursor = "0"
        while True:
            async with asyncio.timeout(self._deadline_s):
                reply = await self._redis.eval_ro(self._scan.text, 1, self.keys.zset, cursor, str(self._page))
            cursor, members, scores = map(text, reply)
            yield _players(members), _scores(scores)
            if cursor == "0":
                return

    async def logged(self, epoch: str, after: int, last: int) -> list[BoardEvent] | None:
        """Return the events after one version up to another from the change log; None if any is not there."""
        events: dict[int, BoardEvent] = {}
        newest = "+"
        while not events or min(events) > after + 1:
            async with asyncio.timeout(self._deadline_s):
                entries: list[Any] = (
                    await self._redis.xrevrange(self.keys.log, newest, "-", count=_LOG_PAGE) or []
                )
            for entry, fields in entries:
                newest = f"({text(entry)}"
                event = _logged_event(fields)
                if event is None or event.epoch != epoch:
                    return None
                events[event.version] = event
            if len(entries) < _LOG_PAGE:
                break
        wanted = range(after + 1, last + 1)
        return [events[version] for version in wanted] if all(map(events.__contains__, wanted)) else None


def _logged_event(fields: dict[bytes | str, bytes | str]) -> BoardEvent | None:
    value = fields.get(b"e", fields.get("e"))
    try:
        return None if value is None else parse_event(value)
    except ValueError:
        return None


def _players(members: str) -> Int64s:
    """Take a page's members apart; each must be the canonical text of a signed 64-bit integer."""
    try:
        ids = list(map(int, members.split()))
        players = np.array(ids, np.int64)
    except (ValueError, OverflowError) as error:
        raise BoardUnreadableError(f"a member is no player id: {error}") from error
    if " ".join(map(str, ids)) != members:
        raise BoardUnreadableError("a member is no canonical player id, as 007 or +7 would be")
    return players


def _scores(words: str) -> Int64s:
    """Take a page's scores apart, written as integers or, by some servers above 2^52, with an exponent."""
    values = np.array(list(map(float, words.split())))
    exact = (values >= 0) & (values <= MAX_SCORE) & (values == np.floor(values))
    if not exact.all():
        raise BoardUnreadableError(f"a score is no integer from 0 to {MAX_SCORE}: {values[~exact][0]}")
    return values.astype(np.int64)
