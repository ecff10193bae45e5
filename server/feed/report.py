"""What others learn of a role's progress: lag, age of the newest result, and offsets committed to its group.

Works beside the round, so that lag shows while the round waits for Redis or PostgreSQL. Commits are a hint
for those who watch groups: nothing ever starts from them.
Never does: move anything. Neighbours: `ingest_session.py` and `persist_session.py` own one each.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable

from aiokafka.errors import KafkaError

from server.feed.lag import LagReport, lag
from server.feed.reader import LogReader
from server.metrics import Metrics

SHOW_SECONDS = 0.5
COMMIT_SECONDS = 2.0
ASK_AFTER_SECONDS = 1.5


class Report:
    """Shows and commits `positions()`: partition → up to where everything is done, None while not known."""

    def __init__(
        self,
        metrics: Metrics,
        role: str,
        reader: LogReader,
        positions: Callable[[], dict[int, int | None]],
    ) -> None:
        self._metrics = metrics
        self._role = role
        self._reader = reader
        self._positions = positions
        self._lags = LagReport(metrics, role)
        self._listed: dict[int, int] = {}  # ends of partitions of which nothing is fetched at present
        self._committed: dict[int, int] = {}
        self._goals: dict[int, int] = {}  # where partitions ended when `left` was asked about `_goals_of`
        self._goals_of = 0.0
        self._newest_ms = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to show."""
        self._task = asyncio.create_task(self._run())

    def check(self) -> None:
        """Raise what ended the reporting, if something did."""
        if self._task is not None and self._task.done():
            self._task.result()

    async def stop(self) -> None:
        """Show nothing more of these partitions."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._lags.show({})

    def done(self, newest_ms: int) -> None:
        """Results up to this Kafka timestamp have been taken."""
        self._newest_ms = max(self._newest_ms, newest_ms)

    def left(self, then: float) -> int | None:
        """Records up to where the log ended at `then` (Unix seconds) or a moment later; None: not known yet.

        What comes after that moment does not count: under load a log's end is never reached.
        """
        if then != self._goals_of:
            self._goals_of, self._goals = then, {}
        total: int | None = 0
        for partition, position in self._positions().items():
            if position is None:
                continue
            if partition not in self._goals and self._reader.heard_since(partition, then):
                end = self._reader.end(partition)
                if end is not None:
                    self._goals[partition] = end
            records = lag(self._goals.get(partition), position)
            total = None if total is None or records is None else total + records
        return total

    def known_left(self) -> int | None:
        """Records up to where the log was last known to end; None while nothing is known of it."""
        known = [records for records in self._known_lags().values() if records is not None]
        return sum(known) if known else None

    async def commit(self) -> None:
        """Commit what has moved since the last time."""
        done = {
            partition: position
            for partition, position in self._positions().items()
            if position is not None and self._committed.get(partition) != position
        }
        await self._reader.commit(done)
        self._committed |= done

    async def _run(self) -> None:
        commit_at = 0.0
        while True:
            await self._ask_for_ends()
            self._show()
            if time.monotonic() >= commit_at:
                await self.commit()
                commit_at = time.monotonic() + COMMIT_SECONDS
            await asyncio.sleep(SHOW_SECONDS)

    async def _ask_for_ends(self) -> None:
        """Ask where partitions end of which no fetch has told of late."""
        heard = {partition: self._reader.heard_ago(partition) for partition in self._positions()}
        silent = [partition for partition, ago in heard.items() if ago is None or ago > ASK_AFTER_SECONDS]
        self._listed = {}
        if silent:
            with contextlib.suppress(KafkaError, TimeoutError):
                async with asyncio.timeout(ASK_AFTER_SECONDS):
                    self._listed = await self._reader.ends(silent)

    def _known_lags(self) -> dict[int, int | None]:
        lags = {}
        for partition, position in self._positions().items():
            known = [self._reader.end(partition), self._listed.get(partition)]
            end = max((end for end in known if end is not None), default=None)
            lags[partition] = lag(end, position)
        return lags

    def _show(self) -> None:
        self._lags.show(self._known_lags())
        if self._newest_ms:
            self._metrics.newest_age.labels(self._role).set(time.time() - self._newest_ms / 1000)
