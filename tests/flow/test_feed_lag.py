"""Lag is never negative, never made up, and gone with the partition (B9)."""

from dataclasses import dataclass
from typing import cast

import pytest

from server.feed.lag import LagReport, lag
from server.feed.reader import LogReader
from server.feed.report import Report
from server.metrics import Metrics


@pytest.mark.parametrize(
    ("end", "position", "records"),
    [(29, 29, 0), (100, 105, 0), (50, 49, 1), (None, 7, None), (7, None, None), (0, 0, 0)],
)
def test_lag_is_what_lies_between_position_and_end_b9(
    end: int | None, position: int | None, records: int | None
) -> None:
    assert lag(end, position) == records


def test_a_partition_that_went_to_another_process_vanishes_from_the_gauge_b9() -> None:
    metrics = Metrics()
    report = LagReport(metrics, "ingest")
    report.show({0: 5, 1: None, 2: 7})
    report.show({2: 6})

    def shown(partition: int) -> float | None:
        labels = {"role": "ingest", "partition": str(partition)}
        return metrics.registry.get_sample_value("rankcast_lag_records", labels)

    assert [shown(0), shown(1), shown(2)] == [None, None, 6]


@dataclass
class Growing:
    """What a report asks its reader, of a log that grows."""

    now_end: int
    heard_at: float

    def end(self, _partition: int) -> int:
        return self.now_end

    def heard_since(self, _partition: int, then: float) -> bool:
        return self.heard_at > then


def test_what_a_stop_waits_for_is_where_the_log_ended_then_however_it_grows() -> None:
    reader, at = Growing(now_end=100, heard_at=1.0), {0: 40}
    report = Report(Metrics(), "ingest", cast(LogReader, reader), lambda: dict(at))
    assert report.left(5.0) is None  # nothing was heard since
    reader.now_end, reader.heard_at = 120, 6.0
    assert report.left(5.0) == 80
    reader.now_end, at[0] = 500, 119
    assert report.left(5.0) == 1
    at[0] = 130
    assert report.left(5.0) == 0
    assert report.left(5.5) == 370  # another stop, another end
