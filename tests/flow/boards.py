"""What the tests of boards are made with: seasons, results, live boards and how to read them."""

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from redis.asyncio import Redis

from server.board.batch import Asked, SubmitBatch, SubmitReply
from server.board.keys import BoardKeys
from server.board.position import Applied, new_epoch
from server.board.store import BoardStore
from server.core.results import Result
from server.core.season import Operator, Season

LIFE_S = 3600
DAY_US = 86_400_000_000


def now_us() -> int:
    return time.time_ns() // 1000


def make_season(
    operator: Operator = "best",
    *,
    season_id: int = 12,
    points_bits: int = 21,
    time_bits: int = 32,
    tick: str = "1 second",
    days: int = 30,
) -> Season:
    """A season that began yesterday."""
    start_s = now_us() // 1_000_000 - 86_400
    season = {
        "season_id": season_id,
        "name": "Test",
        "starts_at": _instant(start_s),
        "ends_at": _instant(start_s + days * 86_400),
        "operator": operator,
        "points_bits": points_bits,
        "time_bits": time_bits,
        "tick": tick,
    }
    return Season.parse(season, created_us=start_s * 1_000_000)


def _instant(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


@dataclass
class Maker:
    """Makes results and batches of one partition of a log, one record after another."""

    season: Season
    log: int = 1
    partition: int = 0
    next_offset: int = 0
    began_us: int = field(default_factory=lambda: now_us() - 60_000_000)

    def result(self, player: int, points: int, *, at: int = 0, match: str | None = None) -> Result:
        """`at` is in seconds after the maker began, a minute ago."""
        match = match or str(uuid.uuid4())
        return Result(match, player, self.season.season_id, points, self.began_us + at * 1_000_000)

    def batch(
        self,
        *results: Result,
        asked: Asked | None = None,
        keys: BoardKeys | None = None,
        start: int | None = None,
    ) -> SubmitBatch:
        """The results as the next records of the log, or as those from `start` on."""
        start = self.next_offset if start is None else start
        end = start + len(results)
        self.next_offset = max(self.next_offset, end)
        offsets = range(start, end)
        return SubmitBatch(
            self.season, self.log, self.partition, start, end, offsets, results, asked=asked, keys=keys
        )


async def open_board(
    boards: BoardStore, season: Season, *, log: int = 1, offsets: dict[int, int] | None = None
) -> None:
    """An empty live board, as a rebuild from an empty PostgreSQL makes it: it asks for a marker's life."""
    keys = BoardKeys(season.season_id, new_epoch())
    await boards.rebuilds.begin(keys, season)
    await boards.rebuilds.finish(keys, 0, Applied(log, offsets or {}))
    assert await boards.rebuilds.swap(keys)


async def settle(redis: Redis, season: Season) -> None:
    """Let the board's rebuild be longer ago than markers live."""
    await redis.hset(BoardKeys(season.season_id).meta, "asking", "0")


def nothing_elsewhere(batch: SubmitBatch, *, sql_next: int | None = None, behind: bool = False) -> Asked:
    """PostgreSQL's word when it has read up to the batch and knows none of its results elsewhere."""
    return Asked(batch.start if sql_next is None else sql_next, behind, [False] * len(batch.results))


async def ranked(redis: Redis, season: Season) -> list[int]:
    """The live board's players from rank 1 on, of one moment."""
    members = await redis.zrange(BoardKeys(season.season_id).zset, 0, -1, desc=True)
    return [int(member) for member in members if isinstance(member, bytes)]


async def order(redis: Redis, season: Season) -> list[tuple[int, int]]:
    """(player, score) of the live board from rank 1 on, with exact scores."""
    players = await ranked(redis, season)
    if not players:
        return []
    # Through a script, as text: the client turns scores into floats, which would hide a lost digit.
    script = "local s={} for i,p in ipairs(ARGV) do s[i]=redis.call('ZSCORE',KEYS[1],p) end return s"
    scores = await redis.eval(script, 1, BoardKeys(season.season_id).zset, *players)
    return list(zip(players, [int(score) for score in scores], strict=True))


async def raw_changes(redis: Redis, season: Season) -> list[bytes]:
    """The events of the change log, oldest first."""
    entries = await redis.xrange(BoardKeys(season.season_id).log) or []
    return [event for _, fields in entries if fields and isinstance(event := fields[b"e"], bytes)]


async def changes(redis: Redis, season: Season) -> list[dict[str, Any]]:
    """The same, parsed."""
    return [orjson.loads(event) for event in await raw_changes(redis, season)]


async def dump(redis: Redis) -> dict[bytes | str, object]:
    """Everything that the server holds."""
    return {key: await redis.dump(key) for key in await redis.keys("*")}


def codes(reply: SubmitReply) -> list[int]:
    return [outcome.code for outcome in reply.outcomes]


def in_order(scores: dict[int, int]) -> list[tuple[int, int]]:
    """The one total order: score descending, then the member's bytes descending."""
    return sorted(scores.items(), key=lambda item: (item[1], str(item[0]).encode()), reverse=True)


def ranks(scores: dict[int, int]) -> dict[int, int]:
    return {player: rank for rank, (player, _) in enumerate(in_order(scores), start=1)}


def players(rows: Sequence[tuple[int, int]]) -> list[int]:
    return [player for player, _ in rows]
