"""Whether the server is what it says: one that rounds scores or ignores a word is refused at the start.

Owns the questions. Never touches a season: it makes a board of a season number below 0, which no season has.
Neighbours: the composition root and `doctor` call it.
"""

import secrets
import uuid
from collections.abc import Sequence

from redis.asyncio import Redis
from redis.exceptions import RedisError

from server.board.batch import Asked, SubmitBatch, submit_keys
from server.board.keys import BoardKeys
from server.board.position import Applied, new_epoch, text
from server.board.store import BoardStore
from server.core.results import Result
from server.core.season import Season
from server.metrics import Metrics
from server.settings import Settings

OLDEST = (7, 0)
_PLAYERS = 130  # more than the 128 up to which servers keep a ZSET in another way
_IDS = [index - 2**63 for index in range(_PLAYERS)]  # as long as ids get
_TICK_US = 1_000_000
_END_US = 2**22 * _TICK_US


class SelfCheckFailed(RuntimeError):  # noqa: N818  reads as the sentence it is
    """The server cannot carry exact boards; the reason says what it did and what to use instead."""


async def self_check(redis: Redis) -> None:
    """Raise `SelfCheckFailed` where this server would spoil a board. Takes a few milliseconds."""
    try:
        await _version(redis)
        await _board(redis)
    except RedisError as error:
        raise SelfCheckFailed(
            f"Redis refused a command that boards need: {error}; use Redis 7 or Valkey 8, or later, and an "
            "account that may use scripts, INFO and PUBLISH"
        ) from error


async def _version(redis: Redis) -> None:
    version = str((await redis.info("server"))["redis_version"])
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        raise SelfCheckFailed(f"Redis is of version {version}; use Redis 7 or Valkey 8, or later")


async def _board(redis: Redis) -> None:
    """Make a board, apply results to it, look at it member by member, and remove it."""
    boards = BoardStore(redis, Settings(), Metrics())
    number = -1 - secrets.randbelow(2**31)  # others may check at the same time
    season = Season(number, "self-check", 0, _END_US, "best", 31, 22, _TICK_US, "UTC", 0, 0)
    making, live = BoardKeys(number, new_epoch()), BoardKeys(number)
    batches = [_batch(season, start, less) for start, less in ((0, 0), (_PLAYERS, 1))]
    try:
        await boards.rebuilds.begin(making, season)
        await boards.rebuilds.finish(making, 0, Applied(1))
        await boards.rebuilds.swap(making)
        await _apply(boards, batches)
        await _look(redis, live, season)
    finally:
        markers = [key for batch in batches for key in submit_keys(batch)]
        await redis.unlink(*making.board, live.rebuilds, live.lost, *markers)


def _score(season: Season, index: int) -> int:
    """From the greatest score there is downwards, two players to each."""
    return season.codec.encode(season.codec.max_points, index // 2 * _TICK_US)


def _batch(season: Season, start: int, less: int) -> SubmitBatch:
    """All the players' results, each with `less` points."""
    points = season.codec.max_points - less
    results = [
        Result(str(uuid.uuid4()), player, season.season_id, points, index // 2 * _TICK_US)
        for index, player in enumerate(_IDS)
    ]
    end = start + _PLAYERS
    asked = Asked(end, False, [False] * _PLAYERS)
    return SubmitBatch(season, 1, 0, start, end, range(start, end), results, asked)


async def _apply(boards: BoardStore, batches: Sequence[SubmitBatch]) -> None:
    for batch, expected in zip(batches, (1, 0), strict=True):
        reply = await boards.submit(batch)
        if [outcome.code for outcome in reply.outcomes] != [expected] * _PLAYERS:
            raise SelfCheckFailed(f"the submit script answered {reply}, not {expected} for each result")


async def _look(redis: Redis, keys: BoardKeys, season: Season) -> None:
    read = "local s = redis.call('ZSCORE', KEYS[1], ARGV[1]) return {s, string.format('%.0f', tonumber(s))}"
    for index, player in enumerate(_IDS):
        exact = _score(season, index)
        found = [int(text(score)) for score in await redis.eval(read, 1, keys.zset, str(player))]
        if found != [exact, exact]:
            raise SelfCheckFailed(f"the score {exact} comes back as {found}; it must be exact up to 2^53")
    members = sorted(
        ((_score(season, index), str(player)) for index, player in enumerate(_IDS)), reverse=True
    )
    for rank, (_, member) in enumerate(members):
        if await redis.zrevrank(keys.zset, member) != rank:
            raise SelfCheckFailed("players of equal scores are not in the order of their members' bytes")
