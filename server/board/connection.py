"""How this process connects to Redis: deadlines everywhere, and tries again only what may be done twice.

Owns the options of the client, and that a cancelled command ends at once.
Neighbours: the composition root opens one client, `store.py` and the mirrors use it.
"""

import asyncio
from collections.abc import Iterable

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ResponseError

CONNECT_SECONDS = 5.0
REPLY_SECONDS = 15.0  # above what an overloaded server may need for a pipeline, below what people wait for
MOST_CONNECTIONS = 1000  # of one process; the pool would refuse the 101st command at a time


def connect(url: str) -> Redis:
    """A client with a pool; nothing is sent before the first command.

    A command is sent again once, at once, when the connection turns out to be dead (a restart of the server,
    a proxy's idle limit): every script of ours bears that. Longer faults are the callers' to wait out, each
    with its own back-off and metric. A command that is cancelled takes its connection with it, so no reply
    meets the wrong caller.
    """
    pool = ConnectionPool.from_url(
        url,
        max_connections=MOST_CONNECTIONS,
        socket_connect_timeout=CONNECT_SECONDS,
        socket_timeout=REPLY_SECONDS,
        socket_keepalive=True,
        retry=Retry(NoBackoff(), 1),
    )
    kind = pool.connection_class  # by the URL's scheme: plain, TLS or a Unix socket
    pool.connection_class = type(f"Prompt{kind.__name__}", (_Prompt, kind), {})
    return Redis.from_pool(pool)


def trouble(error: Exception) -> str:
    """What is the matter, in a sentence: a server that is full, read-only or busy refuses and is not away."""
    if isinstance(error, ResponseError):
        return f"Redis refuses: {error}"
    return f"Redis does not answer: {error!r}"


class _Prompt(AbstractConnection):
    """Ends with the task that was cancelled.

    redis-py sends through `asyncio.wait_for`, which up to Python 3.11 forgets a cancellation that comes in
    the very moment the send is done: the task would go on as if nobody had stopped it.
    """

    async def send_packed_command(
        self, command: bytes | str | Iterable[bytes], check_health: bool = True
    ) -> None:
        task = asyncio.current_task()
        before = task.cancelling() if task is not None else 0
        await super().send_packed_command(command, check_health)
        if task is not None and task.cancelling() > before:
            await self.disconnect(nowait=True)
            raise asyncio.CancelledError
