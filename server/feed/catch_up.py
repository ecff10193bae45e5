"""A board in the making, brought from where PostgreSQL's rows end to where the live board is.

Owns: reading the log for one board beside ingest, in no group, and submitting by the same script to other
keys. It bears Redis and PostgreSQL being away for a while: loaded rows are not thrown away for that.
Never does: load rows, decide how far is far enough, or swap: the keeper does.
Neighbours: `keeper/rebuild.py` calls it, `apply.py` submits, `reader.py` reads.
"""

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Self

import structlog
from redis.exceptions import RedisError

from server.archive.catalog import SeasonCatalog
from server.archive.errors import ArchiveUnavailable
from server.archive.store import Archive
from server.board.keys import BoardKeys
from server.board.store import BoardStore
from server.core.season import Season
from server.feed.apply import Applier, Reached, Span
from server.feed.backoff import Backoff, insist
from server.feed.decode import Share, decode
from server.feed.identity import TopicWatch
from server.feed.reader import Fetch, LogChanged, LogReader
from server.logs import Trouble
from server.metrics import Metrics
from server.settings import Settings

log = structlog.get_logger(__name__)

ROLE = "rebuild"
READ_SECONDS = 0.1
RESULTS_A_CALL = 200  # on a busy server 500 take longer than the live board should wait


class BoardLost(Exception):  # noqa: N818  reads as the sentence it is
    """The board in the making cannot go on from where it stands: start over from PostgreSQL."""


class CatchUp:
    """`async with` opens the log; `reach` may be called as often as the live board has moved on."""

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics,
        archive: Archive,
        catalog: SeasonCatalog,
        boards: BoardStore,
        *,
        season: Season,
        keys: BoardKeys,
        log_number: int,
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._archive = archive
        self._catalog = catalog
        self._boards = boards
        self._season = season
        self._keys = keys
        self._log = log_number
        gentle = settings.model_copy(update={"batch_max": min(settings.batch_max, RESULTS_A_CALL)})
        self._applier = Applier(gentle, metrics, archive, boards, log_number)
        self._watch = TopicWatch(settings.kafka_bootstrap or "", settings.topic)
        self._reader: LogReader | None = None
        self._at: dict[int, int] = {}
        self._backoff = Backoff(0.05, 1.0)
        self._never = asyncio.Event()
        self._trouble = Trouble(log)

    async def __aenter__(self) -> Self:
        """Open the log. Raises LogChanged, BoardLost, BrokerAway and KafkaError."""
        try:
            await self._open()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    async def reach(self, targets: Mapping[int, int]) -> dict[int, int]:
        """Submit until every partition is at its target or beyond; return where each partition is.

        Raises LogChanged when the topic is another log now, BoardLost when the board has to start over,
        BrokerAway and KafkaError when the log cannot be read.
        """
        assert self._reader is not None
        while any(at < targets.get(number, 0) for number, at in self._at.items()):
            for (
                number,
                at,
            ) in self._at.items():  # those at their target, too: the live board goes on meanwhile
                self._reader.steer(number, at)
            fetches = await self._reader.read(READ_SECONDS)
            spans = [await self._span(fetch) for fetch in fetches]
            if spans:
                await self._apply(spans)
        return dict(self._at)

    async def ends(self) -> dict[int, int]:
        """Where the log ends by now, by partition; never above the truth. Raises KafkaError."""
        assert self._reader is not None
        return await self._reader.ends(self._at)

    async def _open(self) -> None:
        state = await self._watch.look()
        if await self._archive.log_number(state.identity) != self._log:
            raise LogChanged(f"the topic is {state.identity} now, not log {self._log}")
        self._reader = LogReader(
            self._settings, self._watch, state, group=None, most=self._settings.fetch_max_records
        )
        await self._reader.start()
        applied = await self._boards.rebuilds.applied(self._keys)
        if applied is None or applied.log != self._log:
            raise BoardLost(f"the board in the making is not one of log {self._log}: {applied}")
        for number, start in (await self._reader.starts(self._reader.take_fresh())).items():
            self._at[number] = applied.offsets.get(number, 0)
            if self._at[number] < start:
                raise BoardLost(f"partition {number} begins at {start}, the board needs {self._at[number]}")

    async def _close(self) -> None:
        await self._applier.close()
        if self._reader is not None:
            await self._reader.stop()
        await self._watch.close()

    async def _span(self, fetch: Fetch) -> Span:
        check_key = self._settings.check_key
        decoded = await insist(
            lambda: decode(fetch, self._catalog.peek, self._catalog.resolve, check_key=check_key),
            (ArchiveUnavailable,),
            self._away,
            self._never,
        )
        share = decoded.shares.get(self._season.season_id, Share())
        return Span(
            self._season,
            fetch.partition,
            fetch.start,
            fetch.end,
            share.offsets,
            share.results,
            keys=self._keys,
        )

    async def _apply(self, spans: list[Span]) -> None:
        reached = await insist(
            lambda: self._applier.apply(spans), (RedisError, OSError, TimeoutError), self._away, self._never
        )
        self._trouble.over()
        for span, answer in zip(spans, reached, strict=True):
            self._settle(span, answer)
        if any(answer.kind == "wait" for answer in reached):
            await self._backoff.wait(self._never)
        else:
            self._backoff.reset()

    def _settle(self, span: Span, answer: Reached) -> None:
        """Note where the board stands: the next round is read from there."""
        if answer.kind == "rebuild":
            raise BoardLost(f"the board in the making has no position in log {self._log} any more")
        if answer.kind == "seek":
            log.info(
                "board_went_back",
                board=self._season.board,
                partition=span.partition,
                offset=answer.applied,
                expected=span.start,
            )
        self._at[span.partition] = answer.applied

    def _away(self, fault: Exception) -> None:
        self._trouble.warn("catch_up_waits", type(fault), board=self._season.board, error=repr(fault))
        self._metrics.retries.labels(
            ROLE, "archive" if isinstance(fault, ArchiveUnavailable) else "redis"
        ).inc()
