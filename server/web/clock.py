"""Whether this process's clock agrees with Redis's: said once where it does not, as a metric all along.

No rule of what counts reads a process's clock (that is Redis's, PostgreSQL's and Kafka's word), so a wrong
one changes no board. But the ages that it shows, the tokens that it takes and the edges of seasons at which
it refuses what is posted are its own: somebody has to know.
Never does: correct anything, or say which of the two clocks is wrong.
Neighbours: `parts.py` gives it to every process.
"""

import asyncio
import time
from collections.abc import Callable

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from server.feed.backoff import wait_or_stop
from server.metrics import Metrics
from server.settings import Settings

log = structlog.get_logger(__name__)

EVERY_S = 10.0


class ClockWatch:
    """Compares again and again while the process runs; `clock` gives Unix seconds."""

    def __init__(
        self, settings: Settings, metrics: Metrics, redis: Redis, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._tolerance_s = settings.clock_tolerance_s
        self._gauge = metrics.clock_ahead
        self._redis = redis
        self._clock = clock
        self._differs = False

    async def run(self, stop: asyncio.Event) -> None:
        """Compare every ten seconds until `stop` is set; while Redis is away there is nothing to compare."""
        while not stop.is_set():
            try:
                await self.compare()
            except (RedisError, OSError, TimeoutError) as error:
                log.debug("clock_not_compared", error=repr(error))
            await wait_or_stop(stop, EVERY_S)

    async def compare(self) -> None:
        """Compare once. Raises what Redis raises when it is away."""
        self._judge(await self._ahead_s())

    async def _ahead_s(self) -> float:
        """How far this clock is ahead of Redis's, in seconds, at least: the answer took some time."""
        before = self._clock()
        seconds, microseconds = await self._redis.time()
        after = self._clock()
        theirs = seconds + microseconds / 1_000_000
        return max(0.0, before - theirs) + min(0.0, after - theirs)

    def _judge(self, ahead_s: float) -> None:
        self._gauge.set(ahead_s)
        differs = abs(ahead_s) > self._tolerance_s
        if differs and not self._differs:
            log.warning("clock_differs", ahead_s=round(ahead_s, 3), tolerance_s=self._tolerance_s)
        elif self._differs and not differs:
            log.info("clock_agrees", ahead_s=round(ahead_s, 3))
        self._differs = differs
