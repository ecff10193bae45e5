"""Refused records, into a topic of their own: bytes untouched, the reason and where they were beside them.

Owns: the headers (`reason`, `detail`, `topic`, `partition`, `offset`; numbers as text), and that a record is
written before its offset moves on. After a crash one may be there twice: the same position is one record.
Never does: judge. Neighbour: `persist.py` alone writes here; ingest only counts.
"""

from typing import Any

import structlog

from server.core.refusals import Refusal
from server.errors import RankcastError
from server.feed.lane import RecordWithHeaders
from server.feed.producer import ResultProducer
from server.feed.topics import rejected_topic
from server.metrics import Metrics
from server.settings import Settings

log = structlog.get_logger(__name__)


class RejectedRecords:
    """Writes refused records; `start` before and `stop` after."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._producer = ResultProducer(settings, metrics, rejected_topic(settings))
        self.start = self._producer.start
        self.stop = self._producer.stop

    async def write(self, refused: list[tuple[Any, Refusal]]) -> None:
        """Return when Kafka has acknowledged all of them. Raises RankcastError `log_unavailable`."""
        records = [_record(source, refusal) for source, refusal in refused]
        try:
            await self._producer.send(records)
        except RankcastError as error:
            if error.code != "record_too_big":
                raise
            for record in records:
                await self._write_one(record)

    async def _write_one(self, record: RecordWithHeaders) -> None:
        """Write a record; one that the topic does not take is written without its value, which is said."""
        try:
            await self._producer.send([record])
        except RankcastError as error:
            if error.code != "record_too_big":
                raise
            key, value, headers = record
            size = len(value or b"")
            log.error("rejected_value_omitted", bytes=size, **{name: text.decode() for name, text in headers})
            await self._producer.send([(key, None, [*headers, ("omitted", b"%d" % size)])])


def _record(source: Any, refusal: Refusal) -> RecordWithHeaders:
    headers = [
        ("reason", refusal.code.encode()),
        ("detail", refusal.reason.encode()),
        ("topic", source.topic.encode()),
        ("partition", b"%d" % source.partition),
        ("offset", b"%d" % source.offset),
    ]
    return source.key, source.value, headers
