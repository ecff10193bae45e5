"""A process whose clock is wrong says so: once in the log, all along as a metric."""

import time

import pytest
from structlog.testing import capture_logs

from server.board.connection import connect
from server.metrics import Metrics
from server.settings import Settings
from server.web.clock import ClockWatch

HOUR_S = 3600.0


@pytest.mark.parametrize("wrong_s", [HOUR_S, -HOUR_S])
async def test_a_clock_that_differs_is_told_of_once_and_again_when_it_is_right(
    redis_url: str, wrong_s: float
) -> None:
    metrics, shift = Metrics(), wrong_s
    async with connect(redis_url) as redis:
        watch = ClockWatch(Settings(), metrics, redis, clock=lambda: time.time() + shift)
        with capture_logs() as lines:
            await watch.compare()
            await watch.compare()
            ahead = metrics.registry.get_sample_value("rankcast_clock_ahead_seconds")
            shift = 0.0
            await watch.compare()

    assert [line["event"] for line in lines] == ["clock_differs", "clock_agrees"]
    assert lines[0]["ahead_s"] == pytest.approx(wrong_s, abs=2)
    assert ahead == pytest.approx(wrong_s, abs=2)


async def test_the_time_that_an_answer_takes_is_no_difference(redis_url: str) -> None:
    metrics, readings = Metrics(), iter([time.time() - 60, time.time() + 60])
    async with connect(redis_url) as redis:
        await ClockWatch(Settings(), metrics, redis, clock=lambda: next(readings)).compare()

    assert metrics.registry.get_sample_value("rankcast_clock_ahead_seconds") == 0
