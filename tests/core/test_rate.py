"""A rate is what was counted over the time between, of the last seconds alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.core.rate import WINDOW_S, Rate


def test_one_count_makes_no_rate() -> None:
    rate = Rate()
    rate.add(0.0, 5)

    assert rate.per_second() is None


def test_a_rate_forgets_what_is_older_than_its_window() -> None:
    rate = Rate()
    for second, count in ((0.0, 0), (1.0, 1000), (1.0 + WINDOW_S, 1000)):
        rate.add(second, count)

    assert rate.per_second() == 0.0


def test_a_board_that_was_made_anew_is_counted_anew() -> None:
    rate = Rate()
    for second, count in ((0.0, 100), (1.0, 3), (2.0, 5)):
        rate.add(second, count)

    assert rate.per_second() == 2.0


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=5))
def test_a_rate_is_what_was_counted_over_the_time_between(growth: list[int]) -> None:
    rate, count = Rate(), 0
    for second, more in enumerate(growth):
        count += more
        rate.add(float(second), count)

    assert rate.per_second() == pytest.approx(sum(growth[1:]) / (len(growth) - 1), abs=0.051)
