"""`serve` from its start to its end: signals, services that die, a demo that goes on."""

import asyncio
import signal
from pathlib import Path

import psutil
import pytest

from server.demo.history import load_results
from tests.cli.running import START_SECONDS, Cli, Serving, family
from tests.waiting import until


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_stops_everything_with_code_0_and_the_next_run_finds_its_board(
    cli: Cli, number: signal.Signals
) -> None:
    serving = cli.start(RANKCAST_DEMO_SPEED="25")
    await until(serving.listening, within=START_SECONDS)
    await until(lambda: _demo_total(serving) > 20, within=30)
    processes = family(serving.process)

    code = await asyncio.to_thread(serving.end, number)

    assert code == 0, serving.log.read_text()
    assert "Traceback" not in serving.log.read_text()
    assert [process for process in processes if process.is_running()] == []
    assert not (cli.folder / "data" / "run.json").exists()

    again = cli.start(RANKCAST_DEMO="false")
    await until(again.listening, within=START_SECONDS)
    assert _demo_total(again) > 20
    assert await asyncio.to_thread(again.end, number) == 0


@pytest.mark.parametrize("seconds", [0.3, 1.0, 1.8])
async def test_a_signal_during_the_start_stops_everything_too(cli: Cli, seconds: float) -> None:
    serving = cli.start()
    await asyncio.sleep(seconds)  # whichever part of the start that is on this machine

    code = await asyncio.to_thread(serving.end, signal.SIGTERM)

    assert code in (0, -signal.SIGTERM)  # the latter before Python could take the signal
    assert "Traceback" not in serving.log.read_text()
    assert [it for it in psutil.process_iter() if _works_in(it, cli.folder)] == []


async def test_an_embedded_service_that_dies_takes_the_process_down_with_one_line(cli: Cli) -> None:
    serving = cli.start(RANKCAST_DEMO="false", RANKCAST_LOG_LEVEL="error")
    await until(serving.listening, within=START_SECONDS)
    [valkey] = [it for it in family(serving.process) if "valkey" in it.name()]

    valkey.kill()
    code = await asyncio.to_thread(serving.process.wait, 60)

    assert code == 1
    assert "Valkey ended by itself" in serving.log.read_text().splitlines()[-1]


async def test_the_demo_goes_on_where_it_stopped_and_counts_nothing_twice(cli: Cli) -> None:
    first = cli.start(RANKCAST_DEMO_SPEED="100")
    await until(first.listening, within=START_SECONDS)
    await until(lambda: _demo_total(first) > 100, within=60)
    await asyncio.to_thread(first.end)

    second = cli.start(RANKCAST_DEMO_SPEED="100000")
    await until(second.listening, within=START_SECONDS)
    await until(lambda: "demo_finished" in second.log.read_text(), within=120)
    await until(lambda: _demo_goals(second) == _all_goals(), within=60)
    await asyncio.to_thread(second.end)

    assert "start=0 " not in second.log.read_text()


def _demo_top(serving: Serving) -> dict[str, object]:
    try:
        top = serving.get("/seasons/1/leaderboard/top?limit=1000")
    except OSError:  # no such season yet
        return {"total": 0, "entries": []}
    assert isinstance(top, dict)
    return top


def _demo_total(serving: Serving) -> int:
    return int(str(_demo_top(serving)["total"]))


def _demo_goals(serving: Serving) -> int:
    entries = _demo_top(serving)["entries"]
    assert isinstance(entries, list)
    return sum(entry["points"] for entry in entries)


def _all_goals() -> int:
    return sum(result.points for result in load_results())


def _works_in(process: psutil.Process, folder: Path) -> bool:
    try:
        return Path(process.cwd()).is_relative_to(folder)
    except psutil.Error:
        return False
