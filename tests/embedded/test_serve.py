"""`rankcast serve` without outside services, as `make run` starts it: how it ends, and what it says then."""

import signal
import socket
from pathlib import Path

import psutil

from tests.embedded.runs import Serve, still_there


async def test_sigterm_ends_the_server_with_code_0_and_leaves_no_process(place: Path) -> None:
    run = Serve(place / "data")
    info = await run.up()
    assert await run.end(signal.SIGTERM) == 0
    assert still_there(info) == []


async def test_a_killed_server_starts_again_with_the_same_key(place: Path) -> None:
    killed = Serve(place / "data")
    before = await killed.up()
    await killed.end(signal.SIGKILL)
    again = Serve(place / "data")
    after = await again.up()
    assert still_there(before) == []
    assert after.api_key == before.api_key
    await again.end(signal.SIGTERM)


async def test_a_service_that_dies_takes_the_server_down_and_is_named(place: Path) -> None:
    run = Serve(place / "data")
    info = await run.up()
    victim = next(record for record in info.services if record.name == "Valkey")
    psutil.Process(victim.pid).kill()
    assert await run.ended() == 1
    assert any("Valkey ended by itself with code -9" in line for line in run.said[-3:])
    assert still_there(info) == []


async def test_a_taken_port_is_one_line_and_starts_nothing(place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        run = Serve(place / "data", RANKCAST_PORT=str(taken.getsockname()[1]))
        assert await run.ended() == 1
    assert len(run.said) == 1
    assert "RANKCAST_PORT names another port" in run.said[0]
    assert not run.data_dir.is_dir()


async def test_a_second_server_over_the_same_folder_is_one_line(place: Path) -> None:
    first = Serve(place / "data")
    info = await first.up()
    second = Serve(place / "data")
    assert await second.ended() == 1
    assert len(second.said) == 1
    assert f"already runs in {place / 'data'} at {info.http_url}" in second.said[0]
    await first.end(signal.SIGTERM)
