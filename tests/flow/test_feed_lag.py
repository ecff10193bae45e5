"""Lag is never negative, never made up, and gone with the partition (B9)."""

import pytest

from server.feed.lag import LagReport, lag
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
