"""The Redis client of the mirrors: like the process's own, with its own connections and no socket timeout.

Owns one workaround: with a socket timeout, redis-py sends through `asyncio.wait_for`, and before Python 3.12
that swallows a cancellation which comes in that moment; a task would go on for ever. The mirrors put a
deadline on each read themselves.
"""

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff


def own_client(redis: Redis) -> Redis:
    """Return a client of the same server with its own pool; it raises at once when a connection is lost."""
    pool = redis.connection_pool
    options = {
        **pool.connection_kwargs,
        "socket_timeout": None,
        "decode_responses": False,
        "retry": Retry(NoBackoff(), 0),
    }
    return Redis.from_pool(ConnectionPool(connection_class=pool.connection_class, **options))
