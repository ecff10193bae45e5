"""Readiness: every part is asked, none can hold the answer up."""

import asyncio
import contextlib

import pytest
from structlog.testing import capture_logs

from server.metrics import Metrics
from server.web import ready
from server.web.ready import Readiness
from server.web.shapes import Part


async def _fine() -> str | None:
    return None


async def test_a_process_without_parts_is_ready() -> None:
    report = await Readiness().report()

    assert (report.ready, report.parts) == (True, {})


async def test_one_part_that_is_not_ready_makes_the_process_not_ready() -> None:
    async def away() -> str | None:
        return "no partition yet"

    readiness = Readiness()
    readiness.add("redis", _fine)
    readiness.add("ingest", away)

    report = await readiness.report()

    assert not report.ready
    assert report.parts == {"redis": Part(True), "ingest": Part(False, "no partition yet")}


async def test_a_part_that_raises_is_not_ready_for_that_reason() -> None:
    async def broken() -> str | None:
        raise OSError("connection refused")

    readiness = Readiness()
    readiness.add("postgres", broken)

    assert (await readiness.report()).parts == {"postgres": Part(False, "OSError: connection refused")}


async def test_a_part_that_hangs_is_not_ready_within_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "CHECK_SECONDS", 0.05)

    async def hanging() -> str | None:
        await asyncio.Event().wait()
        return None

    readiness = Readiness()
    readiness.add("postgres", hanging)

    assert (await readiness.report()).parts == {"postgres": Part(False, "no answer within 0.05 s")}


async def test_a_check_that_does_not_end_when_it_is_cancelled_holds_no_answer_up_and_is_not_asked_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ready, "CHECK_SECONDS", 0.05)
    asked, thawed = 0, asyncio.Event()

    async def frozen() -> str | None:
        nonlocal asked
        asked += 1
        with contextlib.suppress(asyncio.CancelledError):
            await thawed.wait()
        await thawed.wait()  # as a driver does that tells a frozen server of the cancellation
        return None

    readiness = Readiness()
    readiness.add("postgres", frozen)
    async with asyncio.timeout(20):
        for _ in range(3):
            assert (await readiness.report()).parts == {"postgres": Part(False, "no answer within 0.05 s")}
    assert asked == 1
    thawed.set()
    assert (await readiness.report()).parts == {"postgres": Part(True)}
    assert asked == 2


async def test_probes_at_the_same_time_share_one_round() -> None:
    rounds = 0

    async def counted() -> str | None:
        nonlocal rounds
        rounds += 1
        await asyncio.sleep(0)
        return None

    readiness = Readiness()
    readiness.add("redis", counted)

    await asyncio.gather(*(readiness.report() for _ in range(20)))

    assert rounds == 1


async def test_a_part_that_is_not_needed_is_told_of_and_the_process_serves() -> None:
    async def away() -> str | None:
        return "away"

    readiness = Readiness()
    readiness.add("postgres", away, needed=False)

    report = await readiness.report()

    assert (report.ready, report.parts) == (True, {"postgres": Part(False, "away", needed=False)})


async def _watched(readiness: Readiness, metrics: Metrics, stop: asyncio.Event) -> None:
    await asyncio.wait_for(readiness.run(metrics, stop), 10)


async def test_a_part_that_changes_is_a_line_in_the_log_and_a_metric(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ready, "LOOK_SECONDS", 0.01)
    answers: list[str | None] = ["still loading", None, "away", "away", None]
    readiness, metrics, stop = Readiness(), Metrics(), asyncio.Event()
    shown: list[float | None] = []

    async def check() -> str | None:
        shown.append(metrics.registry.get_sample_value("rankcast_ready", {"part": "redis"}))
        if len(answers) == 1:
            stop.set()
        return answers.pop(0)

    readiness.add("redis", check)
    with capture_logs() as lines:
        await _watched(readiness, metrics, stop)

    assert shown == [None, 0, 1, 0, 0]
    assert [(line["event"], line.get("reason")) for line in lines] == [
        ("part_not_ready", "away"),
        ("part_ready", None),
    ]


async def test_a_part_that_never_gets_ready_is_told_of_after_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ready, "START_SECONDS", -1.0)
    readiness, stop = Readiness(), asyncio.Event()

    async def away() -> str | None:
        stop.set()
        return "away"

    readiness.add("redis", away)
    with capture_logs() as lines:
        await _watched(readiness, Metrics(), stop)

    assert [(line["event"], line["part"]) for line in lines] == [("part_not_ready", "redis")]
