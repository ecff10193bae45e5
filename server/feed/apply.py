"""Results of one log onto boards: calls of the submit script, PostgreSQL asked where the script wants it.

Owns: cutting a range of a partition into calls that follow each other, asking once a range, and saying in
one word what became of each range. All boards and partitions of one round share a pipeline. A PostgreSQL that
does not answer is left alone until it does, so that it holds up those boards alone that need its word.
Never does: read the log, seek, wait or rebuild: its callers do, by the answer. Sending a span twice is safe.
Neighbours: `ingest.py` for live boards and `catch_up.py` for boards in the making call it.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import structlog

from server.archive.errors import ArchiveUnavailable
from server.archive.store import Archive
from server.board.batch import Asked, Kind, SubmitBatch, SubmitReply
from server.board.keys import BoardKeys
from server.board.store import BoardStore
from server.core.results import Result
from server.core.season import Season
from server.metrics import Metrics
from server.settings import Settings

log = structlog.get_logger(__name__)

ASK_SECONDS = 2.0
ASK_FIRST_SECONDS = 10.0
PROBE_SECONDS = 0.5
_OUTCOMES = {1: "new_record", 0: "no_record", -1: "duplicate", -2: "skipped"}


@dataclass(frozen=True, slots=True)
class Span:
    """A board's results in the range `start` to below `end` of one partition; `keys`: not the live board."""

    season: Season
    partition: int
    start: int
    end: int
    offsets: Sequence[int] = ()
    results: Sequence[Result] = ()
    keys: BoardKeys | None = None

    @property
    def board(self) -> BoardKeys:
        """The board that the span is for."""
        return self.keys or BoardKeys(self.season.season_id)


@dataclass(frozen=True, slots=True)
class Reached:
    """What became of a span: `done`, or why not, and the board's `applied` in the span's partition."""

    kind: Kind
    applied: int


@dataclass(slots=True)
class _Work:
    """A span on its way: the calls that are left of it, and its end once that is known."""

    span: Span
    left: list[SubmitBatch]
    reached: Reached | None = None
    codes: Counter[int] = field(default_factory=Counter)

    def settle(self, replies: Sequence[SubmitReply]) -> Reached:
        """Take the calls' replies. The first that is not `done` decides: those after it wrote nothing."""
        for index, reply in enumerate(replies):
            if reply.kind != "done":
                self.left = self.left[index:]
                return Reached(reply.kind, reply.applied)
            self.codes.update([outcome.code for outcome in reply.outcomes])
        return Reached("done", replies[-1].applied)


class Applier:
    """Submits spans of the log of number `log_number`."""

    def __init__(
        self, settings: Settings, metrics: Metrics, archive: Archive, boards: BoardStore, log_number: int
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._archive = archive
        self._boards = boards
        self._log = log_number
        self._ask_first: dict[
            BoardKeys, float
        ] = {}  # boards that wanted PostgreSQL's word of late: until when
        self._probe: asyncio.Task[None] | None = None

    @property
    def unanswered(self) -> bool:
        """Whether PostgreSQL did not answer when it was asked last, and still does not."""
        return self._probe is not None and not self._probe.done()

    async def close(self) -> None:
        """End what runs in the background."""
        if self._probe is not None:
            self._probe.cancel()
            await asyncio.gather(self._probe, return_exceptions=True)

    async def apply(self, spans: Sequence[Span]) -> list[Reached]:
        """Submit the spans: one round trip, and one more for those that PostgreSQL had to be asked about.

        Raises what the store raises when Redis is away: the same spans may then be sent again. PostgreSQL
        being away is a `wait`.
        """
        works = [_Work(span, self._cut(span)) for span in spans]
        await asyncio.gather(*[self._ask(work) for work in works if self._will_be_asked(work.span)])
        todo = works
        while todo:
            await self._submit(todo)
            todo = [work for work in todo if work.reached is not None and work.reached.kind == "ask"]
            answered = await asyncio.gather(*[self._ask(work) for work in todo])
            todo = [work for work, answer in zip(todo, answered, strict=True) if answer]
        return [self._told(work) for work in works]

    def _cut(self, span: Span) -> list[SubmitBatch]:
        """Calls of at most `batch_max` results that cover the span without a gap."""
        most, count = self._settings.batch_max, len(span.results)
        starts = [span.start, *[span.offsets[first] for first in range(most, count, most)]]
        return [
            SubmitBatch(
                span.season,
                self._log,
                span.partition,
                start,
                end,
                span.offsets[index * most : (index + 1) * most],
                span.results[index * most : (index + 1) * most],
                keys=span.keys,
            )
            for index, (start, end) in enumerate(zip(starts, [*starts[1:], span.end], strict=True))
        ]

    async def _submit(self, works: Sequence[_Work]) -> None:
        replies = iter(await self._boards.submit_many([batch for work in works for batch in work.left]))
        for work in works:
            work.reached = work.settle([next(replies) for _ in work.left])
            if work.reached.kind == "ask":
                self._ask_first[work.span.board] = time.monotonic() + ASK_FIRST_SECONDS

    def _will_be_asked(self, span: Span) -> bool:
        """Whether the script would send us to PostgreSQL anyway: spares a round trip, decides nothing."""
        if not span.results or self.unanswered:
            return False
        if time.monotonic() < self._ask_first.get(span.board, 0.0):
            return True
        old_us = (time.time() - self._settings.marker_life_s) * 1_000_000
        return any(result.achieved_us < old_us for result in span.results)

    async def _ask(self, work: _Work) -> bool:
        """Put PostgreSQL's word into the calls that are left; False where it has none to give."""
        if self.unanswered:
            return False
        span = work.span
        asked_of = [
            (result.match_id, result.player_id, offset)
            for batch in work.left
            for result, offset in zip(batch.results, batch.offsets, strict=True)
        ]
        try:
            async with asyncio.timeout(ASK_SECONDS):
                word = await self._archive.ask(self._log, span.partition, span.season.season_id, asked_of)
        except (ArchiveUnavailable, TimeoutError) as error:
            log.warning(
                "archive_unanswered",
                board=span.season.board,
                partition=span.partition,
                offset=span.start,
                error=str(error) or type(error).__name__,
            )
            self._metrics.retries.labels("apply", "archive").inc()
            if not self.unanswered:
                self._probe = asyncio.create_task(self._until_answered())
            return False
        at = 0
        for index, batch in enumerate(work.left):
            elsewhere = word.elsewhere[at : at + len(batch.results)]
            at += len(batch.results)
            work.left[index] = replace(batch, asked=Asked(word.sql_next, word.behind, elsewhere))
        return True

    async def _until_answered(self) -> None:
        while True:
            await asyncio.sleep(PROBE_SECONDS)
            with contextlib.suppress(ArchiveUnavailable, TimeoutError):
                async with asyncio.timeout(ASK_SECONDS):
                    await self._archive.current_log()
                return

    def _told(self, work: _Work) -> Reached:
        """Count the outcomes; what still wants to ask has to wait."""
        assert work.reached is not None
        if work.span.keys is None:
            for code, count in work.codes.items():
                self._metrics.results.labels("ingest", _OUTCOMES[code]).inc(count)
        reached = work.reached
        return Reached("wait", reached.applied) if reached.kind == "ask" else reached
