"""The live boards in Redis: results go in by the submit script, positions come out.

Owns the calls of `submit.lua` and what a caller learns from them. Never decides what to do about a reply:
ingest seeks, waits and asks, the keeper rebuilds and repairs (`rebuilds.py`, `repairs.py`).
Neighbours: `feed` calls it, `batch.py` makes the text, `scripts.py` sends it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from server.board.batch import BatchInvalid, SubmitBatch, SubmitReply, parse_reply, submit_args, submit_keys
from server.board.keys import BoardKeys
from server.board.position import Applied, new_epoch, text
from server.board.rebuilds import Rebuilds
from server.board.repairs import Repairs
from server.board.scripts import Call, Script, Scripts
from server.core.season import Season
from server.metrics import Metrics
from server.settings import Settings

LOST_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Standing:
    """How a live board stands: how far it has read (None: there is none), whether it was reported lost.

    `resets`: how often its season had been reset when it was made.
    """

    applied: Applied | None
    lost: bool
    resets: int = 0

    def is_outdated(self, season: Season) -> bool:
        """Whether the season was reset since: Redis went back to a copy from before that."""
        return self.applied is not None and self.resets < season.resets


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a live board has read, and how many results it has counted since it was made."""

    applied: Applied
    counted: int


class BoardStore:
    """All boards of one Redis. `rebuilds` and `repairs` have what only the keeper needs."""

    def __init__(self, redis: Redis, settings: Settings, metrics: Metrics) -> None:
        self._redis = redis
        self._settings = settings
        self._metrics = metrics
        self._scripts = Scripts(redis, metrics)
        self._submit = Script.load("submit")
        self.rebuilds = Rebuilds(redis, self._scripts, settings)
        self.repairs = Repairs(self._scripts, settings)

    async def submit(self, batch: SubmitBatch) -> SubmitReply:
        """Apply one batch; see `submit_many`."""
        return (await self.submit_many([batch]))[0]

    async def submit_many(self, batches: Sequence[SubmitBatch]) -> list[SubmitReply]:
        """Apply batches in their order, in one round trip; replies belong to the batches.

        Sending the same batches again after any error is safe and right. Raises `OutOfRange`, before anything
        is sent, when a result does not fit its season, `BatchInvalid` for a batch that the script refuses.
        """
        replies = await self._run([self._call(batch) for batch in batches])
        parsed = [parse_reply(reply) for reply in replies]
        for batch, reply in zip(batches, parsed, strict=True):
            if reply.saturated and batch.board.rebuild_id is None:
                self._metrics.saturated.labels(board=batch.season.board).inc(reply.saturated)
        return parsed

    def _call(self, batch: SubmitBatch) -> Call:
        life, length = self._settings.marker_life_s, self._settings.log_length
        args = submit_args(batch, life, length, new_epoch())
        return Call(self._submit, submit_keys(batch), args, lane=(batch.board.zset, batch.partition))

    async def _run(self, calls: Sequence[Call]) -> list[Any]:
        try:
            return await self._scripts.run_many(calls)
        except ResponseError as error:
            if str(error).startswith("INVALID "):
                raise BatchInvalid(str(error).removeprefix("INVALID ")) from error
            raise

    async def position(self, season_id: int) -> tuple[str, int] | None:
        """(epoch, version) of the live board, None where there is no board."""
        epoch, version = await self._redis.hmget(BoardKeys(season_id).meta, ["epoch", "version"])
        return None if epoch is None or version is None else (text(epoch), int(version))

    async def applied(self, season_id: int) -> Applied | None:
        """How far the live board has read, None where there is no board."""
        return Applied.parse(await self._redis.hgetall(BoardKeys(season_id).applied))

    async def count(self, season_id: int) -> int:
        """The number of the live board's members."""
        members: int = await self._redis.zcard(BoardKeys(season_id).zset)
        return members

    async def progress(self, season_id: int) -> Progress | None:
        """How the live board gets on, None where there is no board."""
        keys = BoardKeys(season_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.hgetall(keys.applied)
            pipe.hget(keys.meta, "counted")
            applied, counted = await pipe.execute()
        found = Applied.parse(applied)
        return None if found is None else Progress(found, int(counted or 0))

    async def report_lost(self, season_id: int) -> None:
        """Ask the keeper, wherever it runs, to rebuild a board that cannot go on from its `applied`.

        Within a moment after a rebuild this does nothing: who reported may have seen the board before it. A
        board that is lost again is reported again.
        """
        await self._redis.set(BoardKeys(season_id).lost, "1", ex=LOST_SECONDS, nx=True)

    async def standings(self, season_ids: Sequence[int]) -> list[Standing]:
        """How the boards of these seasons stand, in one round trip."""
        async with self._redis.pipeline(transaction=False) as pipe:
            for season_id in season_ids:
                pipe.hgetall(BoardKeys(season_id).applied)
                pipe.get(BoardKeys(season_id).lost)
                pipe.hget(BoardKeys(season_id).meta, "resets")
            replies = await pipe.execute() if season_ids else []
        return [
            Standing(Applied.parse(applied), lost in (b"1", "1"), int(resets or 0))
            for applied, lost, resets in zip(replies[::3], replies[1::3], replies[2::3], strict=True)
        ]

    async def run_id(self) -> str:
        """The id that the server gave itself when it started."""
        return text((await self._redis.info("server"))["run_id"])
