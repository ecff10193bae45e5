"""Where a command finds its services: variables first, then what runs in the data folder."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.commands import located
from server.commands.located import CommandError, locate
from server.embedded import runfile
from server.embedded.runfile import RunInfo
from server.settings import Settings

INFO = RunInfo(
    pid=1,
    http_url="http://127.0.0.1:8123",
    redis_url="redis://run",
    database_url="postgresql://run",
    kafka_bootstrap="run:9092",
    api_key="key",
)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Path]:
    """A folder in which a stack runs: its lock is held and its run file is there."""
    runfile.write(tmp_path, INFO)
    with (tmp_path / runfile.LOCK_NAME).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield tmp_path


def test_a_running_stack_is_found_by_its_folder(running: Path) -> None:
    found = locate(Settings(data_dir=running))

    assert found.http_url == INFO.http_url
    assert found.need("redis_url", "database_url", "kafka_bootstrap").redis_url == "redis://run"
    assert found.settings.api_key is not None
    assert found.settings.api_key.get_secret_value() == "key"


def test_a_variable_goes_before_the_running_stack(running: Path) -> None:
    found = locate(Settings(data_dir=running, redis_url="redis://named"))

    assert (found.settings.redis_url, found.settings.kafka_bootstrap) == ("redis://named", "run:9092")


def test_the_file_of_a_stack_that_does_not_run_is_not_believed(tmp_path: Path) -> None:
    runfile.write(tmp_path, INFO)

    assert locate(Settings(data_dir=tmp_path)).settings.redis_url is None


def test_without_a_stack_the_missing_variables_are_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="REDIS_URL and KAFKA_BOOTSTRAP_SERVERS are not set"):
        locate(Settings(data_dir=tmp_path)).need("redis_url", "kafka_bootstrap")


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("RANKCAST_PORT", "eighty", "RANKCAST_PORT is 'eighty'"),
        ("RANKCAST_PORT", "70000", "RANKCAST_PORT is '70000'"),
        ("RANKCAST_LOG_LEVEL", "loud", "RANKCAST_LOG_LEVEL is 'loud'"),
        ("RANKCAST_DEMO", "perhaps", "RANKCAST_DEMO is 'perhaps'"),
        ("KAFKA_BOOTSTRAP_SERVERS", "kafka://a:9092", "KAFKA_BOOTSTRAP_SERVERS is 'kafka://a:9092'"),
        ("REDIS_URL", "localhost:6379", "REDIS_URL: it should look like redis://"),
    ],
)
def test_a_variable_with_a_wrong_value_is_named_with_it(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, told: str
) -> None:
    monkeypatch.setenv(variable, value)

    with pytest.raises(CommandError) as raised:
        located.settings()

    assert told in str(raised.value)
    assert raised.value.code == 2


def test_an_address_with_a_password_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "mysql://me:hunter2@db/x")

    with pytest.raises(CommandError, match="DATABASE_URL") as raised:
        located.settings()

    assert "hunter2" not in str(raised.value)


def test_a_file_that_is_not_there_is_one_clear_line() -> None:
    with pytest.raises(CommandError, match="No such file"):
        located.read_file(Path(os.devnull).parent / "there-is-none")
