"""Gates before Redis and PostgreSQL, put where the server's own code asks them.

Owns: the client, the database and the archive that the roles get. Exchanges are real; only when they happen
is the schedule's word. Neighbours: `gates.py` has the gates, `services.py` opens these.
"""

import contextlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import RedisError

from server.archive import totals
from server.archive.database import Connection, Database
from server.archive.store import Archive
from server.archive.totals import Total, TotalsSnapshot
from server.core.log_identity import LogIdentity
from tests.model.gates import flying, through, transaction_gates
from tests.model.resp import Wire


class GatedRedis(Redis):
    """Each command of a process is a gate, each pipeline another.

    The exchange itself blocks: nobody else has anything to do meanwhile, and it takes a third of the time.
    """

    wire: Wire

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        async with through("redis"):
            return self.wire.command(args, options)

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipeline:
        pipeline = GatedPipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)
        pipeline.wire = self.wire
        return pipeline


class GatedPipeline(Pipeline):
    """See GatedRedis."""

    wire: Wire

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        async with through("redis"):
            commands, self.command_stack = self.command_stack, []
            replies = self.wire.transaction(commands) if self.is_transaction else self.wire.exchange(commands)
            for reply in replies if raise_on_error else ():
                if isinstance(reply, RedisError):
                    raise reply
            return replies


class GatedDatabase(Database):
    """Gates before a transaction and before its commit."""

    def transaction(  # type: ignore[override]  # the generator behind it is nobody's business
        self, *, readonly: bool = False
    ) -> AbstractAsyncContextManager[Connection]:
        if readonly:  # each of these is one statement, and so a transaction by itself
            return transaction_gates(readonly, self._pool.acquire())
        return transaction_gates(readonly, super().transaction(readonly=readonly))

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Connection]:
        stack = contextlib.AsyncExitStack()
        async with through("begin"):
            connection = await stack.enter_async_context(super().snapshot())
        try:
            yield connection
        finally:
            with flying():
                await stack.aclose()


class ListArchive(Archive):
    """Knows the numbers of logs: they are the same for ever, and asked for at every start of a role."""

    numbers: dict[LogIdentity, int]

    async def log_number(self, identity: LogIdentity) -> int:
        return self.numbers[identity]


_snapshot_totals = totals.snapshot_totals
_chunks = TotalsSnapshot.chunks


async def gated_snapshot_totals(connection: Connection, season_id: int) -> TotalsSnapshot:
    async with through("cursor"):
        return await _snapshot_totals(connection, season_id)


async def gated_chunks(self: TotalsSnapshot, size: int = 5000) -> AsyncIterator[list[Total]]:
    chunks = _chunks(self, size)
    while True:
        async with through("cursor"):
            chunk = await anext(chunks, None)
        if chunk is None:
            return
        yield chunk
