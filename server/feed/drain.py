"""Waiting until a role has handled all that Kafka had acknowledged: what an orderly stop begins with.

Neighbours: `ingest.py` and `persist.py` offer it; whoever stops an embedded broker calls it first.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

LOOK_AGAIN_SECONDS = 0.02
UNKNOWN = -1


class Drains(Protocol):
    """Whoever reads a log now."""

    def left(self, then: float) -> int | None:
        """Records up to the log's end as of `then` or later (Unix seconds); None while that is not known."""

    def known_left(self) -> int | None:
        """Records up to where the log was last known to end, for want of a better figure."""


async def drained(reading: Callable[[], Drains | None], within: float) -> int:
    """Return 0 as soon as nothing is left, else how much after `within` seconds; UNKNOWN where none reads."""
    then, deadline = time.time(), time.monotonic() + within
    left: int | None = None
    while time.monotonic() < deadline:
        reader = reading()
        left = None if reader is None else reader.left(then)
        if left == 0:
            return 0
        if left is None and reader is not None:
            left = reader.known_left()
        await asyncio.sleep(LOOK_AGAIN_SECONDS)
    return left or UNKNOWN
