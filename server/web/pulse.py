"""How a board gets on: results a second, and how many Kafka has that it does not show yet.

Owns when Redis and Kafka are looked at for that: together, at most once a second a board, and only while
somebody asks, however many do. What cannot be had in time is told as unknown (None), never made up.
Neighbours: `routes/status.py` asks; `board/store.py` and `feed/ends.py` know.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from aiokafka.errors import KafkaError
from redis.exceptions import RedisError

from server.board.store import BoardStore, Progress
from server.core.rate import Rate
from server.feed.ends import LogEnds
from server.feed.lag import lag

EVERY_S = 1.0
WITHIN_S = 1.0

T = TypeVar("T")


class Reading(NamedTuple):
    """What is known at present; None: unknown."""

    results_per_second: float | None
    lag_records: int | None


UNKNOWN = Reading(None, None)


@dataclass(slots=True)
class _Look:
    """What is known of one board, and who is looking."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    rate: Rate = field(default_factory=Rate)
    due: float = 0.0
    reading: Reading = UNKNOWN


class Pulse:
    """All boards' readings, as of a second ago at most."""

    def __init__(self, boards: BoardStore, ends: LogEnds) -> None:
        self._boards, self._ends = boards, ends
        self._ends_lock = asyncio.Lock()
        self._ends_due = 0.0
        self._known_ends: dict[int, int] | None = None
        self._looks: defaultdict[int, _Look] = defaultdict(_Look)

    async def of(self, season_id: int) -> Reading:
        """The reading of an existing season's board."""
        look = self._looks[season_id]
        async with look.lock:
            if time.monotonic() >= look.due:
                look.reading = await self._read(season_id, look.rate)
                look.due = time.monotonic() + EVERY_S
            return look.reading

    async def _read(self, season_id: int, rate: Rate) -> Reading:
        ends, progress = await asyncio.gather(
            self._log_ends(), _in_time(self._boards.progress(season_id))
        )  # the ends first: a lag is rather too low than too high
        if progress is None:
            return UNKNOWN
        rate.add(time.monotonic(), progress.counted)
        return Reading(rate.per_second(), _behind(progress, ends))

    async def _log_ends(self) -> dict[int, int] | None:
        async with self._ends_lock:
            if time.monotonic() >= self._ends_due:
                self._known_ends = await _in_time(self._ends.ends())
                self._ends_due = time.monotonic() + EVERY_S
            return self._known_ends


def _behind(progress: Progress, ends: dict[int, int] | None) -> int | None:
    if ends is None:
        return None
    offsets = progress.applied.offsets
    return sum(lag(end, offsets.get(partition, 0)) or 0 for partition, end in ends.items())


async def _in_time(work: Awaitable[T]) -> T | None:
    """What the work gives, None where the service is away or slow."""
    try:
        async with asyncio.timeout(WITHIN_S):
            return await work
    except (RedisError, KafkaError, OSError, TimeoutError):
        return None
