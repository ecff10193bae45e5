"""The stack of `make run`: what it starts, what it keeps, what it leaves, however it ends."""

import os
import signal
from pathlib import Path

import asyncpg
import psutil
import pytest
from redis.asyncio import Redis

from server.embedded import runfile
from server.embedded.errors import EmbeddedError
from server.embedded.stack import running_stack
from server.settings import Settings
from tests.embedded.runs import OUTSIDE, Run, still_there
from tests.waiting import until


async def put_on_board(info: runfile.RunInfo) -> None:
    async with Redis.from_url(info.redis_url) as redis:
        await redis.zadd("board", {"42": 7})
    connection = await asyncpg.connect(info.database_url)
    await connection.execute("CREATE TABLE kept AS SELECT 7 AS points")
    await connection.close()


async def read_board(info: runfile.RunInfo) -> tuple[float | None, int]:
    async with Redis.from_url(info.redis_url) as redis:
        score = await redis.zscore("board", "42")
    connection = await asyncpg.connect(info.database_url)
    points = await connection.fetchval("SELECT points FROM kept")
    await connection.close()
    return score, points


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def data_dir(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in OUTSIDE:
        monkeypatch.delenv(name, raising=False)
    folder = place / "data"
    folder.mkdir()
    return folder


async def test_a_second_run_finds_its_board_again(data_dir: Path) -> None:
    first = Run(data_dir)
    await put_on_board(await first.up())
    await first.end(signal.SIGTERM)
    second = Run(data_dir)
    assert await read_board(await second.up()) == (7, 7)
    await second.end(signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_with_code_0_and_leaves_no_process(
    number: signal.Signals, data_dir: Path
) -> None:
    run = Run(data_dir)
    info = await run.up()
    assert await run.end(number) == 0
    assert still_there(info) == []
    assert runfile.find_running(data_dir) is None
    assert not (data_dir / "run.json").exists()


async def test_services_stop_in_order_broker_valkey_postgres(data_dir: Path) -> None:
    run = Run(data_dir)
    await run.up()
    await run.end(signal.SIGTERM)
    assert run.said[-3:] == ["Stopping Kafka …", "Stopping Valkey …", "Stopping PostgreSQL …"]


async def test_a_signal_while_services_are_starting_leaves_no_process(data_dir: Path) -> None:
    run = Run(data_dir)
    await until((data_dir / "run.json").exists, within=60)
    info = runfile.read(data_dir)
    assert info is not None
    assert await run.end(signal.SIGTERM) == 0
    assert still_there(info) == []


async def test_services_are_out_of_reach_of_the_terminals_interrupt(data_dir: Path) -> None:
    run = Run(data_dir)
    info = await run.up()
    sessions = {os.getsid(record.pid) for record in info.services}
    assert sessions == {record.pid for record in info.services}
    await run.end(signal.SIGTERM)


async def test_services_of_a_killed_run_are_ended_by_the_next_start(data_dir: Path) -> None:
    killed = Run(data_dir)
    before = await killed.up()
    await put_on_board(before)
    await killed.end(signal.SIGKILL)
    assert len(still_there(before)) == 3
    second = Run(data_dir)
    after = await second.up()
    assert still_there(before) == []
    assert await read_board(after) == (7, 7)
    await second.end(signal.SIGTERM)


async def test_a_second_start_is_refused_and_says_where_the_first_is(data_dir: Path) -> None:
    first = Run(data_dir, RANKCAST_PORT="8123")
    await first.up()
    second = Run(data_dir)
    assert await second.ended() == 1
    assert second.said == [
        f"Rankcast already runs in {data_dir} at http://127.0.0.1:8123 (process {first.process.pid}): "
        "stop it first, or choose another folder by RANKCAST_DATA_DIR"
    ]
    await first.end(signal.SIGTERM)


@pytest.mark.parametrize("text", ["", "{", '{"pid": "seven"}', '{"pid": 1}', "\xff"])
def test_a_run_file_that_says_nothing_is_passed_over(text: str, data_dir: Path) -> None:
    (data_dir / "run.json").write_text(text, encoding="latin-1")
    assert runfile.read(data_dir) is None


async def test_a_stack_starts_over_a_run_file_that_says_nothing(data_dir: Path) -> None:
    (data_dir / "run.json").write_text('{"pid": ')
    async with running_stack(Settings(data_dir=data_dir), print):
        assert runfile.find_running(data_dir) is not None


async def test_a_process_that_only_has_the_id_of_a_leftover_is_left_alone(data_dir: Path) -> None:
    bystander = psutil.Popen(["sleep", "60"])
    try:
        record = runfile.ServiceRecord("Valkey", bystander.pid, bystander.create_time() - 60)
        runfile.write(data_dir, runfile.RunInfo(1, "", "", "", "", "", (record,)))
        async with running_stack(Settings(data_dir=data_dir), print):
            assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.parametrize(
    ("field", "outside", "started"),
    [
        ("redis_url", "redis://redis.example:6379/0", {"PostgreSQL", "Kafka"}),
        ("database_url", "postgresql://db.example/rankcast", {"Valkey", "Kafka"}),
        ("kafka_bootstrap", "kafka.example:9092", {"Valkey", "PostgreSQL"}),
    ],
)
async def test_a_named_service_switches_its_embedded_one_off_and_no_other(
    field: str, outside: str, started: set[str], data_dir: Path
) -> None:
    settings = Settings(data_dir=data_dir).model_copy(update={field: outside})
    async with running_stack(settings, print) as services:
        info = runfile.find_running(data_dir)
        assert info is not None
        assert {record.name for record in info.services} == started
        assert getattr(services, field) == getattr(info, field) == outside


async def test_with_all_services_named_nothing_is_written(data_dir: Path) -> None:
    settings = Settings(data_dir=data_dir).model_copy(
        update={"redis_url": "redis://r", "database_url": "postgresql://d", "kafka_bootstrap": "k:9092"}
    )
    async with running_stack(settings, print) as services:
        assert services.api_key is None
    assert names_in(data_dir) == set()


async def test_the_key_is_made_once_and_only_its_owner_reads_it(data_dir: Path) -> None:
    keys = []
    for _ in range(2):
        async with running_stack(Settings(data_dir=data_dir), print) as services:
            info = runfile.find_running(data_dir)
            assert info is not None
            keys += [services.api_key, info.api_key]
            modes = {name: (data_dir / name).stat().st_mode & 0o777 for name in ("run.json", "api-key")}
    assert len(set(keys)) == 1
    assert len(keys[0] or "") >= 24
    assert modes == {"run.json": 0o600, "api-key": 0o600}


async def test_the_key_that_the_settings_name_comes_first(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKCAST_API_KEY", "named")
    async with running_stack(Settings(data_dir=data_dir), print) as services:
        assert services.api_key == "named"


async def test_a_service_that_dies_is_named(data_dir: Path) -> None:
    async with running_stack(Settings(data_dir=data_dir), print) as services:
        info = runfile.find_running(data_dir)
        assert info is not None
        victim = next(record for record in info.services if record.name == "Valkey")
        psutil.Process(victim.pid).kill()
        assert (await services.failed()).startswith("Valkey ended by itself with code -9: ")


async def test_the_servers_address_is_written_down_when_it_listens(data_dir: Path) -> None:
    async with running_stack(Settings(data_dir=data_dir), print) as services:
        services.serving("http://127.0.0.1:54321")
        info = runfile.find_running(data_dir)
        assert info is not None
        assert info.http_url == "http://127.0.0.1:54321"


async def test_a_folder_that_cannot_be_used_is_one_clear_line(place: Path) -> None:
    (place / "file").touch()
    with pytest.raises(EmbeddedError, match=r"data folder .*/file/data cannot be used \(Not a directory\)"):
        async with running_stack(Settings(data_dir=place / "file" / "data"), print):
            pytest.fail("it started")


async def test_each_step_is_told(data_dir: Path) -> None:
    said: list[str] = []
    async with running_stack(Settings(data_dir=data_dir), said.append):
        steps = [line.split(" is ready after ")[0] for line in said]
    assert steps == [
        *("Starting PostgreSQL …", "PostgreSQL", "Starting Valkey …", "Valkey"),
        *("Starting Kafka …", "Kafka"),
    ]
