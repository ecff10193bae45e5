"""Where a partition stands at a result that PostgreSQL refuses: found fast, tried again, told of once."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from server.archive.errors import StoreRefused
from server.archive.results import Row
from server.feed.stuck import LONGEST_WAIT_S, StuckPartitions, up_to_refused
from server.metrics import Metrics
from tests.flow.archives import result


def rows_at(offsets: Sequence[int]) -> list[Row]:
    return [(offset, result(offset, offset, 1)) for offset in offsets]


@given(st.sets(st.integers(0, 5000), min_size=1, max_size=80).map(sorted), st.data())
async def test_all_rows_before_the_first_refused_one_are_stored_in_order(
    offsets: list[int], data: st.DataObject
) -> None:
    rows = rows_at(offsets)
    refused = data.draw(st.sets(st.sampled_from(offsets), min_size=1))
    stored: list[int] = []
    ends: list[int] = []

    async def store(part: Sequence[Row], end: int) -> None:
        if any(offset in refused for offset, _ in part):
            raise StoreRefused("no")
        stored.extend(offset for offset, _ in part)
        ends.append(end)

    found = await up_to_refused(rows, store)
    assert found is not None
    offset = found[0][0]
    assert offset == min(refused)
    assert stored == [each for each in offsets if each < offset]
    assert ends == sorted(ends)
    assert not stored or ends[-1] == offset


async def test_fourteen_tries_find_one_bad_row_of_five_thousand() -> None:
    tries = 0

    async def store(part: Sequence[Row], _end: int) -> None:
        nonlocal tries
        tries += 1
        if any(offset == 3210 for offset, _ in part):
            raise StoreRefused("no")

    found = await up_to_refused(rows_at(range(5000)), store)
    assert found is not None
    assert found[0][0] == 3210
    assert tries <= 14


async def test_a_result_that_is_taken_after_all_is_stored_and_none_is_found() -> None:
    stored: list[int] = []

    async def store(part: Sequence[Row], _end: int) -> None:
        if len(part) > 1 and part[-1][0] >= 3:
            raise StoreRefused("no")
        stored.extend(offset for offset, _ in part)

    assert await up_to_refused(rows_at(range(5)), store) is None
    assert stored == list(range(stored[-1] + 1))


def test_a_result_is_tried_again_later_and_later_and_told_of_once() -> None:
    stuck, [row] = StuckPartitions(Metrics(), 3), rows_at([7])
    now = 100.0
    waits = []
    with capture_logs() as lines:
        for _ in range(8):
            stuck.stand(2, row, StoreRefused('CheckViolationError: constraint "fair"'), now)
            assert stuck.due(now) == []
            wait = next(seconds for seconds in range(1, 100) if stuck.due(now + seconds))
            assert stuck.due(now + wait) == []  # it is being tried
            waits.append(wait)
            now += wait
    assert waits == [1, 2, 4, 8, 16, LONGEST_WAIT_S, LONGEST_WAIT_S, LONGEST_WAIT_S]
    assert [line["event"] for line in lines if line["log_level"] == "error"] == ["result_refused"]
    assert stuck.problem is not None
    assert 'partition 2 stands at offset 7: CheckViolationError: constraint "fair"' in stuck.problem


def test_a_freed_partition_is_no_problem_any_more() -> None:
    metrics = Metrics()
    stuck, [row] = StuckPartitions(metrics, 3), rows_at([7])
    stuck.stand(2, row, StoreRefused("no"), 0.0)
    assert 2 in stuck
    assert metrics.registry.get_sample_value("rankcast_stuck_partitions") == 1
    stuck.free(2)
    assert 2 not in stuck
    assert stuck.problem is None
    assert metrics.registry.get_sample_value("rankcast_stuck_partitions") == 0


def test_what_stood_on_an_earlier_log_is_over_with_the_next_one() -> None:
    metrics = Metrics()
    StuckPartitions(metrics, 3).stand(2, rows_at([7])[0], StoreRefused("no"), 0.0)
    assert StuckPartitions(metrics, 4).problem is None
    assert metrics.registry.get_sample_value("rankcast_stuck_partitions") == 0
