"""A process's connections to PostgreSQL: opened, handed out with a deadline, closed within a bound.

Owns: the pool and what a session may rely on. Every call is one transaction and nothing outlives it, so
that a pooler in transaction mode may stand between (setting `database_pooler`): advisory locks are the
transaction's, cursors live in it, and with a pooler no statement is prepared for later.
Never does: know a table. Neighbours: `store.py` runs its queries in `transaction()`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import asyncpg

from server.archive.errors import ArchiveUnavailable, passing_faults_named
from server.errors import StartError
from server.settings import Settings

if TYPE_CHECKING:  # the stubs' generic classes are no such thing at run time
    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
    Pool = asyncpg.Pool[asyncpg.Record]
    RawConnection = asyncpg.Connection[asyncpg.Record]
    Record = asyncpg.Record
else:
    Connection = asyncpg.pool.PoolConnectionProxy
    Pool = asyncpg.Pool
    RawConnection = asyncpg.Connection
    Record = asyncpg.Record

OLDEST_SERVER = 15
_CLOSE_SECONDS = 5.0
_NEVER = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,  # no such database
    ValueError,  # the driver's word for an address that it cannot read
)
_EPOCH_2000_US = 946_684_800_000_000  # PostgreSQL counts from the year 2000


class Database:
    """The pool. Raises `ArchiveUnavailable` where a connection or an answer misses its deadline."""

    def __init__(self, pool: Pool, settings: Settings) -> None:
        self._pool = pool
        self._wait_s = settings.pool_wait_s

    @classmethod
    async def connect(cls, url: str, settings: Settings) -> "Database":
        """Open the pool; `StartError` for a server that will not do, `ArchiveUnavailable` when it is away."""
        pool = asyncpg.create_pool(
            url,
            min_size=0,  # whoever asks connects, and hears what is wrong
            max_size=settings.pool_size,
            timeout=settings.pool_wait_s,
            command_timeout=settings.query_timeout_s,
            statement_cache_size=0 if settings.database_pooler else 100,
            init=_speak_microseconds,
            reset=_nothing_to_reset,
        )
        database = cls(pool, settings)
        try:
            with passing_faults_named():
                await pool
            await database._check_server()
        except BaseException as fault:
            await database.close()
            if isinstance(fault, _NEVER):
                raise StartError(f"DATABASE_URL does not do: {fault}") from fault
            raise
        return database

    async def _check_server(self) -> None:
        async with self.transaction() as connection:
            version = connection.get_server_version()
            encoding = await connection.fetchval("SHOW server_encoding")
        if version.major < OLDEST_SERVER:
            raise StartError(f"PostgreSQL {version.major} is too old; take {OLDEST_SERVER} or newer")
        if encoding != "UTF8":
            raise StartError(f"the database's encoding is {encoding}; make one with ENCODING 'UTF8'")

    @property
    def idle(self) -> int:
        """Connections that nobody uses, those not opened yet among them."""
        return self._pool.get_max_size() - self._pool.get_size() + self._pool.get_idle_size()

    @asynccontextmanager
    async def transaction(self, *, readonly: bool = False) -> AsyncIterator[Connection]:
        """Hold one connection for one transaction, committed at the end and rolled back on any exception."""
        with passing_faults_named():
            async with (
                self._pool.acquire(timeout=self._wait_s) as connection,
                connection.transaction(readonly=readonly),
            ):
                yield connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Connection]:
        """Hold one connection for one repeatable-read transaction, in which faults of others stay theirs."""
        stack = AsyncExitStack()
        with passing_faults_named():
            connection = await stack.enter_async_context(self._pool.acquire(timeout=self._wait_s))
            transaction = connection.transaction(isolation="repeatable_read", readonly=True)
            await stack.enter_async_context(transaction)
        try:
            yield connection
        finally:
            with passing_faults_named():
                await stack.aclose()

    async def close(self) -> None:
        """Close all connections; those still in use after some seconds are cut."""
        try:
            await asyncio.wait_for(self._pool.close(), _CLOSE_SECONDS)
        except (TimeoutError, ArchiveUnavailable):
            self._pool.terminate()


async def _speak_microseconds(connection: RawConnection) -> None:
    """Exchange instants as microseconds since the Unix epoch; datetime's first and last become infinities."""
    async with connection.transaction():
        await connection.set_type_codec(
            "timestamptz",
            schema="pg_catalog",
            encoder=lambda instant_us: (instant_us - _EPOCH_2000_US,),
            decoder=lambda since_2000: since_2000[0] + _EPOCH_2000_US,
            format="tuple",
        )


async def _nothing_to_reset(connection: object) -> None:
    """Spare the driver's clean-up between two uses: no transaction leaves anything in its session."""
