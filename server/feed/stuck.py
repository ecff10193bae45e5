"""Partitions that stand at a result which PostgreSQL refuses for good: a constraint, a trigger, a lost right.

Such a result counts all the same: whether it does is told by the record and its season alone, and the board
has it. So it is neither left out nor put aside. The partition stands right before it, loudly, and tries it
again, later and later, until somebody has mended the database; all other partitions go on.
Owns: which result it is, when it is tried again, and what is said of it. Never does: store.
Neighbour: `persist_session.py`.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog

from server.archive.errors import StoreRefused
from server.archive.results import Row
from server.metrics import Metrics

log = structlog.get_logger(__name__)

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0


async def up_to_refused(
    rows: Sequence[Row], store: Callable[[Sequence[Row], int], Awaitable[object]]
) -> tuple[Row, StoreRefused] | None:
    """Store the rows before the first one that is refused, and return that one; all at once were refused.

    `store(rows, end)` stores rows that follow those stored last, and moves the offset to `end`. Halves are
    tried: 14 tries find one of 5,000. None: the one that was found has been taken after all.
    """
    low, high = 0, len(rows)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            await store(rows[low:middle], rows[middle][0])
        except StoreRefused:
            high = middle
        else:
            low = middle
    try:
        await store(rows[low : low + 1], rows[low][0] + 1)
    except StoreRefused as refusal:
        return rows[low], refusal
    return None


@dataclass(slots=True)
class _Place:
    """The result that a partition stands at, and when it is tried again (steady seconds)."""

    offset: int
    reason: str
    wait_s: float
    until: float
    trying: bool = False


class StuckPartitions:
    """The partitions of one persist that stand; `now` is steady seconds."""

    def __init__(self, metrics: Metrics, log_number: int) -> None:
        self._metrics = metrics
        self._log_number = log_number
        self._places: dict[int, _Place] = {}
        metrics.stuck_partitions.set(0)  # an earlier log's are over

    def __contains__(self, partition: int) -> bool:
        return partition in self._places

    @property
    def problem(self) -> str | None:
        """Where partitions stand and what to do, in a sentence."""
        told = [
            f"partition {number} stands at offset {place.offset}: {place.reason}"
            for number, place in self._places.items()
        ]
        if not told:
            return None
        return f"PostgreSQL refuses a result; change the database so that it takes it: {'; '.join(told)}"

    def stand(self, partition: int, row: Row, refusal: StoreRefused, now: float) -> None:
        """The partition stands at this result, which has just been refused."""
        offset, result = row
        place = self._places.get(partition)
        known = place is not None and place.offset == offset
        wait_s = min(LONGEST_WAIT_S, place.wait_s * 2) if place is not None and known else FIRST_WAIT_S
        self._places[partition] = _Place(offset, str(refusal), wait_s, now + wait_s)
        self._metrics.retries.labels("persist", "refused").inc()
        self._metrics.stuck_partitions.set(len(self._places))
        say = log.debug if known else log.error
        say(
            "result_refused",
            board=f"s{result.season_id}",
            log=self._log_number,
            partition=partition,
            offset=offset,
            match_id=result.match_id,
            player=result.player_id,
            error=str(refusal),
        )

    def due(self, now: float) -> list[int]:
        """Partitions whose result is to be tried again now; each is told once a try."""
        due = [number for number, place in self._places.items() if not place.trying and place.until <= now]
        for number in due:
            self._places[number].trying = True
        return due

    def free(self, partition: int) -> None:
        """The result has been stored."""
        log.info(
            "result_taken",
            log=self._log_number,
            partition=partition,
            offset=self._places[partition].offset,
        )
        self.forget(partition)

    def forget(self, partition: int) -> None:
        """The partition does not stand any more, or is somebody else's."""
        self._places.pop(partition, None)
        self._metrics.stuck_partitions.set(len(self._places))
