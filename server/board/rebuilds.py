"""Boards in the making: their keys from the first chunk to the swap, and the lock that keeps rebuilds apart.

Owns the calls of `load_chunk.lua`, `finish_load.lua`, `swap.lua` and `remove.lua`. Never reads PostgreSQL or
the log: `keeper/rebuild.py` brings rows and results.
Neighbours: `store.py` applies results to such a board too.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from itertools import chain

import orjson
import structlog
from redis.asyncio import Redis
from redis.asyncio.lock import Lock
from redis.exceptions import LockError, RedisError

from server.board.keys import BoardKeys
from server.board.position import Applied, new_epoch, text
from server.board.scripts import Argument, Script, Scripts
from server.core.season import Season
from server.settings import Settings

log = structlog.get_logger(__name__)

REMOVE_WAIT_S = 10.0
_SCAN_COUNT = 1000


class RebuildRefused(RuntimeError):  # noqa: N818  reads as the sentence it is
    """Somebody else works on this board; the reason says who, and for how long at most."""


class RebuildLost(RuntimeError):  # noqa: N818  reads as the sentence it is
    """The board in the making is not what was loaded: Redis went back, or somebody removed it. Start over."""


class Rebuilds:
    """What the keeper does to Redis; `BoardKeys` with a `rebuild_id` name the board in the making."""

    def __init__(self, redis: Redis, scripts: Scripts, settings: Settings) -> None:
        self._redis = redis
        self._scripts = scripts
        self._settings = settings
        self._load_chunk = Script.load("load_chunk")
        self._finish_load = Script.load("finish_load")
        self._swap = Script.load("swap")
        self._remove = Script.load("remove")

    async def begin(self, keys: BoardKeys, season: Season) -> None:
        """Make room for a board that expects its chunk 0."""
        definition = orjson.dumps(season.definition())
        async with self._redis.pipeline(transaction=True) as pipe:
            pipe.sadd(keys.rebuilds, str(keys.rebuild_id))
            pipe.hset(keys.meta, mapping={"chunks": 0, "season": definition})
            await pipe.execute()

    async def load(self, keys: BoardKeys, number: int, scores: Sequence[tuple[int, int]]) -> None:
        """Load chunk `number`: (score, player id) of at least one player. Raises `RebuildLost`."""
        due = await self._scripts.run(
            self._load_chunk, [keys.zset, keys.meta], [number, *chain.from_iterable(scores)]
        )
        if due != number + 1:
            raise RebuildLost(f"chunk {number} does not follow; chunk {due} is due")

    async def finish(
        self, keys: BoardKeys, chunks: int, applied: Applied, *, latest_s: int = 0, resets: int = 0
    ) -> None:
        """Open the loaded board for results from `applied` on. Raises `RebuildLost`.

        `latest_s`: up to when its results are dated, in Unix seconds: one that is dated ahead looks new for
        long, and has no marker here. `resets`: how often the season had been reset when they were read.
        """
        offsets = chain.from_iterable(applied.offsets.items())
        args: list[Argument] = [chunks, self._settings.marker_life_s, applied.log, latest_s, resets, *offsets]
        if not await self._scripts.run(self._finish_load, [keys.meta, keys.applied, keys.zset], args):
            raise RebuildLost(f"not all of the {chunks} chunks are there, or not all of their players")

    async def swap(self, keys: BoardKeys, *, hold_s: float = 0.0) -> bool:
        """Make it the live board; False: the live board has read further, catch up. Raises `RebuildLost`.

        With `hold_s` a live board that has read further takes nothing for so long, or until the swap.
        """
        live = BoardKeys(keys.season_id)
        names = [*live.board, *keys.board, live.rebuilds, live.lost]
        args: list[Argument] = [live.events, new_epoch(), self._settings.log_length, str(keys.rebuild_id)]
        args.append(round(hold_s * 1000))
        reply = text(await self._scripts.run(self._swap, names, args))
        if reply == "unloaded":
            raise RebuildLost("the board in the making has no position in the log")
        return reply == "swapped"

    async def applied(self, keys: BoardKeys) -> Applied | None:
        """How far the board in the making has read."""
        return Applied.parse(await self._redis.hgetall(keys.applied))

    async def drop(self, keys: BoardKeys) -> None:
        """Remove a board in the making, whatever there is of it."""
        async with self._redis.pipeline(transaction=True) as pipe:
            pipe.unlink(*keys.board)
            pipe.srem(keys.rebuilds, str(keys.rebuild_id))
            await pipe.execute()

    async def drop_left_over(self, season_id: int) -> int:
        """Remove what other rebuilds of the season left, and return how many: for the lock's holder."""
        left = [text(name) for name in await self._redis.smembers(BoardKeys(season_id).rebuilds)]
        for rebuild_id in left:
            await self.drop(BoardKeys(season_id, rebuild_id))
        return len(left)

    async def remove_board(self, season_id: int) -> None:
        """Empty a board: its order, its position in the log, all its markers; viewers are told `reset`.

        It takes no results until it is rebuilt. The markers go under the rebuild's lock, while nobody can
        write new ones. So do boards in the making: a rebuild that stood still for longer than its lock lives
        would bring back the players that it read before. Waits a while for a rebuild under way, then raises
        `RebuildRefused`.
        """
        async with self.lock(season_id, f"remove-{new_epoch()}", wait_s=REMOVE_WAIT_S):
            await self.empty_board(season_id)

    async def empty_board(self, season_id: int) -> None:
        """The same, for the lock's holder."""
        keys = BoardKeys(season_id)
        await self.drop_left_over(season_id)
        args: list[Argument] = [keys.events, new_epoch(), self._settings.log_length]
        await self._scripts.run(self._remove, keys.board, args)
        cursor = -1
        while cursor != 0:
            cursor, markers = await self._redis.scan(max(cursor, 0), keys.every_dedup, _SCAN_COUNT)
            if markers:
                await self._redis.unlink(*markers)

    @contextlib.asynccontextmanager
    async def lock(self, season_id: int, holder: str, *, wait_s: float = 0.0) -> AsyncIterator[None]:
        """Hold the season's rebuild lock as `holder`; raises `RebuildRefused` where it is still taken.

        It is renewed until the block ends. Where it gets lost all the same (Redis went back) the block goes
        on: the id in the keys keeps two rebuilds apart.
        """
        name, life = BoardKeys(season_id).lock, self._settings.rebuild_lock_s
        lock = Lock(self._redis, name, timeout=life, thread_local=False)
        if not await lock.acquire(token=holder, blocking=wait_s > 0, blocking_timeout=wait_s):
            other, left = await self._redis.get(name), await self._redis.pttl(name)
            raise RebuildRefused(
                f"season {season_id} is being worked on by {text(other or b'another')}; wait until it is "
                f"done or, if that process is gone, {max(left, 0) // 1000 + 1} seconds"
            )
        renewal = asyncio.create_task(_renew(lock, holder, life / 3))
        try:
            yield
        finally:
            renewal.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await renewal
            with contextlib.suppress(LockError, RedisError):  # it ends by itself
                await lock.release()


async def _renew(lock: Lock, holder: str, every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        try:
            await lock.reacquire()
        except (LockError, RedisError) as error:
            log.warning("rebuild_lock_lost", lock=lock.name, holder=holder, error=str(error))
