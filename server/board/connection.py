"""How this process connects to Redis: deadlines everywhere, and tries again only what may be done twice.

Owns the options of the client. Neighbours: the composition root opens one, `store.py` and the mirrors use it.
"""

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

CONNECT_SECONDS = 5.0
REPLY_SECONDS = 15.0  # above what an overloaded server may need for a pipeline, below what people wait for


def connect(url: str) -> Redis:
    """A client with a pool; nothing is sent before the first command.

    A command is sent again once, at once, when the connection turns out to be dead (a restart of the server,
    a proxy's idle limit): every script of ours bears that. Longer faults are the callers' to wait out, each
    with its own back-off and metric. A command that is cancelled takes its connection with it, so no reply
    meets the wrong caller.
    """
    return Redis.from_url(
        url,
        socket_connect_timeout=CONNECT_SECONDS,
        socket_timeout=REPLY_SECONDS,
        socket_keepalive=True,
        retry=Retry(NoBackoff(), 1),
    )
