"""A board of Redis, whole, exactly as it was at one instant, while it moves: what SQL is held against.

Owns what makes it exact: every page is read together with what the change log has told since, and the last
look gives version, `applied` and the rest of the change log in one step. Changes nothing in Redis and stops
nobody. Memory: about 30 bytes a player when it is done, some 70 while it is sorted.
Neighbours: `board/look.lua` and `scan.lua` read, `exact.py` finds PostgreSQL's side of the cut.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import structlog
from redis.asyncio import Redis

from server.board.keys import BoardKeys
from server.board.position import Applied, text
from server.board.repairs import Standstill
from server.board.scripts import Script
from server.core.board_event import BoardEvent, parse_event
from server.core.board_page import Alien, BoardPage, page_of_rows, page_of_texts
from server.core.member_order import Int64s
from server.core.order import OrderedIndex

log = structlog.get_logger(__name__)

ATTEMPTS = 5
ENTRIES = 50  # of the change log in one look: up to 25,000 rows, a millisecond or two of Redis
SAMPLE = 200  # ranks that Redis is asked for itself, at the very instant of the cut


class NoBoard(RuntimeError):  # noqa: N818  reads as the sentence it is
    """There is no board to look at, or it could not be read at one instant; the text says why."""


@dataclass(frozen=True, slots=True)
class BoardCut:
    """The live board at (`epoch`, `version`), when it had read the log up to `applied`.

    `counted`: results since it was made. `aliens`: members that are no players. `ranks`: of some players, the
    rank that Redis itself told then.
    """

    season_id: int
    epoch: str
    version: int
    applied: Applied
    counted: int
    index: OrderedIndex
    aliens: list[Alien]
    ranks: dict[int, int]


class _Look(NamedTuple):
    """One reply of `look.lua`; `newest` is the entry that the next look goes on from."""

    epoch: str
    version: int
    players: int
    newest: str
    counted: int
    applied: Applied | None
    events: list[BoardEvent]
    ranks: list[int]


class _Moved(Exception):  # noqa: N818  says what happened
    """The board was replaced, or its change log forgot what was not read yet."""


class _Reading:
    """What has been read of the board that stood at `first`."""

    def __init__(self, first: _Look) -> None:
        self._epoch, self._version = first.epoch, first.version
        self.newest = first.newest
        self.aliens: dict[bytes, Alien] = {}
        self._parts: list[tuple[Int64s, Int64s]] = []  # of pages
        self._changes: list[tuple[Int64s, Int64s]] = []  # score -1: removed

    def take_page(self, page: BoardPage) -> None:
        """Take a page; a member that comes again has its later score."""
        self._parts.append((page.players, page.scores))
        self.aliens.update({alien.raw: alien for alien in page.aliens})

    def take(self, look: _Look) -> bool:
        """Take what a later look tells; True: nothing is left in the change log. Raises `_Moved`."""
        if look.epoch != self._epoch:
            raise _Moved("it was replaced meanwhile")
        for event in look.events:
            if event.version != self._version + 1:
                raise _Moved(f"its change log goes from version {self._version} to {event.version}")
            self._version = event.version
            self._changes.append((np.array(event.players, np.int64), np.array(event.scores, np.int64)))
        self.newest = look.newest
        whole = len(look.events) < ENTRIES
        if whole and look.version != self._version:
            raise _Moved(f"its change log ends at version {self._version}, it is at {look.version}")
        return whole

    def sample(self) -> list[int]:
        """Some players of all pages, evenly spread."""
        step = max(sum(len(players) for players, _ in self._parts) // SAMPLE, 1)
        sample: list[int] = np.concatenate([players[::step] for players, _ in self._parts]).tolist()
        return sample[:SAMPLE]

    def index(self) -> OrderedIndex:
        """The order of all that was read: what came later counts, what was removed does not."""
        parts = [*self._parts, *self._changes]
        newest_first = np.concatenate([part[0] for part in parts])[::-1]
        players, first = np.unique(newest_first, return_index=True)
        scores = np.concatenate([part[1] for part in parts])[::-1][first]
        there = scores >= 0
        return OrderedIndex.from_arrays(players[there], scores[there])


class BoardReader:
    """Reads boards of one Redis, `page` players at a time."""

    def __init__(self, redis: Redis, page: int) -> None:
        self._redis = redis
        self._page = page
        self._look_script, self._scan_script = Script.load("look"), Script.load("scan")

    async def cut(self, season_id: int) -> BoardCut:
        """The season's live board at one instant. Raises `NoBoard`, and what Redis raises when it is away."""
        reason = ""
        for _ in range(ATTEMPTS):
            try:
                return await self._read(season_id)
            except _Moved as error:
                reason = str(error)
                log.info("board_read_again", board=f"s{season_id}", reason=reason)
        raise NoBoard(f"board s{season_id} could not be read at one instant in {ATTEMPTS} tries: {reason}")

    async def standing(self, season_id: int) -> Standstill | None:
        """Where the live board stands now, None where there is none."""
        look = await self._look(BoardKeys(season_id), "")
        return None if look.applied is None else Standstill(look.epoch, look.applied)

    async def _read(self, season_id: int) -> BoardCut:
        keys = BoardKeys(season_id)
        first = await self._look(keys, "")
        if not first.epoch:
            raise NoBoard(
                f"there is no board s{season_id} in Redis; the keeper, or `rankcast rebuild`, makes it"
            )
        reading = _Reading(first)
        async for page in self._pages(keys):
            reading.take_page(page)
            reading.take(await self._look(keys, reading.newest))
        sample = reading.sample()
        while not reading.take(last := await self._look(keys, reading.newest, sample)):
            pass
        if last.applied is None:
            raise NoBoard(f"board s{season_id} has no position in a log; it has to be rebuilt")
        index = await asyncio.to_thread(reading.index)
        if index.total + len(reading.aliens) != last.players:
            raise _Moved(f"{index.total} players were read, there are {last.players}")
        ranks = dict(zip(sample, last.ranks, strict=True))
        aliens = list(reading.aliens.values())
        return BoardCut(season_id, last.epoch, last.version, last.applied, last.counted, index, aliens, ranks)

    async def _look(self, keys: BoardKeys, newest: str, members: Sequence[int] = ()) -> _Look:
        reply = await self._redis.eval_ro(
            self._look_script.text, 4, *keys.board, newest, str(ENTRIES), *map(str, members)
        )
        epoch, version, players, last, counted, applied, entries, ranks = reply
        fields = dict(zip(applied[::2], applied[1::2], strict=True))
        return _Look(
            text(epoch),
            int(version),
            players,
            text(entries[-1][0]) if entries else newest or text(last),
            int(counted),
            Applied.parse(fields),
            _events([event for _, event in entries]),
            ranks,
        )

    async def _rows(self, keys: BoardKeys, cursor: str) -> list[tuple[bytes, bytes]]:
        """The members and scores of a page, as Redis writes them."""
        page: Any = await self._redis.zscan(keys.zset, int(cursor), count=self._page, score_cast_func=bytes)
        return list(page[1])

    async def _pages(self, keys: BoardKeys) -> AsyncIterator[BoardPage]:
        """Everybody who is there throughout, some twice."""
        cursor = "0"
        while True:
            args = (cursor, str(self._page))
            reply = await self._redis.eval_ro(self._scan_script.text, 1, keys.zset, *args)
            following, members, scores = [part.decode("utf-8", "replace") for part in reply]
            page = page_of_texts(members, scores)
            if page is None:  # a hand has written here: members one by one
                page = page_of_rows(await self._rows(keys, cursor))
            yield page
            cursor = following
            if cursor == "0":
                return


def _events(entries: Sequence[bytes]) -> list[BoardEvent]:
    try:
        return [parse_event(entry) for entry in entries]
    except ValueError as error:
        raise _Moved(f"its change log holds what no script of ours writes: {error}") from error
