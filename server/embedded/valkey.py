"""Embedded Valkey: `noeviction` and an append-only file, as production has it, on a loopback port.

Owns the server's settings and its password, which goes in by standard input and so shows in no process list.
Never does: decide when it runs. Neighbours: `process.py` starts and stops it, `stack.py` and tests hold it.
"""

import os
from pathlib import Path

from redis.asyncio import Redis

from server.embedded import binaries
from server.embedded.process import HOST, Launch, Service

MALLOC = "glibc.malloc.tcache_count=2000:glibc.malloc.mxfast=0"
"""This program comes with the C library's malloc. A call of the submit script holds thousands of small
objects until its end, and malloc keeps 7 of a size at hand: with more, a result costs a sixth less. What a
removed board gave back it would put in order at once, while calls wait for 100 ms and more: without `mxfast`
it does so bit by bit. Redis and Valkey as packages and images have jemalloc, which needs neither."""


class Valkey(Service):
    """`folder` holds the append-only file. Without `durable` nothing is written: for tests."""

    name = "Valkey"

    def __init__(self, folder: Path, password: str, *, durable: bool = True) -> None:
        super().__init__(folder)
        self._password = password
        self._durable = durable

    @property
    def address(self) -> str:
        """redis:// URL of database 0, with the password."""
        return f"redis://:{self._password}@{HOST}:{self.port}/0"

    def _launch(self) -> Launch:
        lines = [
            f"bind {HOST}",
            f"port {self.port}",
            f"requirepass {self._password}",
            "maxmemory-policy noeviction",
            f"appendonly {'yes' if self._durable else 'no'}",
            "appendfsync everysec",
            'save ""',  # the append-only file alone: a snapshot beside it would only cost a fork
        ]
        environment = {**os.environ, "GLIBC_TUNABLES": MALLOC}
        return Launch([binaries.valkey_server(), "-"], stdin="\n".join(lines) + "\n", env=environment)

    async def _answers(self) -> bool:
        async with Redis.from_url(self.address, socket_timeout=2) as client:
            return bool((await client.info("server"))["process_id"] == self.pid)
