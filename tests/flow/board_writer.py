"""Writes a board as the scripts of `server/board` do, and as they never would: with losses and removals."""

from collections.abc import Mapping

import orjson
from redis.asyncio import Redis

from server.board.keys import BoardKeys
from server.board.position import new_epoch
from server.core.season import Season


class BoardWriter:
    """One board in Redis; `history` remembers what it held at every position."""

    def __init__(self, redis: Redis, season: Season) -> None:
        self.redis, self.keys = redis, BoardKeys(season.season_id)
        self.epoch, self.version = "", 0
        self.board: dict[int, int] = {}
        self.history: dict[tuple[str | None, int], dict[int, int]] = {(None, 0): {}}

    async def replace(
        self, board: Mapping[int, int], *, reason: str = "replaced", lost: bool = False
    ) -> None:
        """Put another board in the place of this one; `lost`: nobody hears of it."""
        self.epoch, self.version, self.board = new_epoch(), 1, dict(board)
        self._remember()
        event = {"epoch": self.epoch, "version": 1, "rows": [], "reason": reason}
        async with self.redis.pipeline(transaction=True) as pipe:
            pipe.unlink(self.keys.zset, self.keys.log)
            for start in range(0, len(board), 1000):
                some = dict(list(board.items())[start : start + 1000])
                pipe.execute_command("ZADD", self.keys.zset, *_scores(some))
            pipe.hset(self.keys.meta, mapping={"epoch": self.epoch, "version": 1})
            pipe.xadd(self.keys.log, {"e": orjson.dumps(event)})
            if not lost:
                pipe.publish(self.keys.events, orjson.dumps(event))
            await pipe.execute()

    async def change(self, rows: Mapping[int, int | None], *, lost: bool = False, length: int = 1000) -> None:
        """Set scores (None: remove) in one version; `lost`: the message is, `length`: what the log keeps."""
        self.version += 1
        kept = {player: score for player, score in rows.items() if score is not None}
        gone = [player for player, score in rows.items() if score is None]
        self.board = {player: score for player, score in self.board.items() if player not in gone} | kept
        self._remember()
        event = orjson.dumps(
            {
                "epoch": self.epoch,
                "version": self.version,
                "rows": [[player, score, None, None] for player, score in rows.items()],
            }
        )
        async with self.redis.pipeline(transaction=True) as pipe:
            if kept:
                pipe.execute_command("ZADD", self.keys.zset, *_scores(kept))
            if gone:
                pipe.zrem(self.keys.zset, *gone)
            pipe.hset(self.keys.meta, "version", str(self.version))
            pipe.xadd(self.keys.log, {"e": event}, maxlen=length, approximate=False)
            if not lost:
                pipe.publish(self.keys.events, event)
            await pipe.execute()

    def _remember(self) -> None:
        self.history[self.epoch, self.version] = self.board


def _scores(rows: Mapping[int, int]) -> list[int]:
    return [number for player, score in rows.items() for number in (score, player)]
