"""Log lines: one an event, the same fields from our own code and from libraries, no secrets."""

import ast
import asyncio
import io
import json
import logging
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import structlog
from structlog.testing import capture_logs

from server import logs
from server.embedded.process import free_port
from tests.services import ROOT
from tests.waiting import until


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def _lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_json_line_with_its_fields() -> None:
    out = io.StringIO()
    logs.set_up("info", as_json=True, stream=out)

    structlog.get_logger("x").warning("board_lost", board="s12", version=7)

    [line] = _lines(out)
    assert line | {"timestamp": ""} == {
        "event": "board_lost",
        "level": "warning",
        "board": "s12",
        "version": 7,
        "timestamp": "",
    }


def test_a_library_line_has_the_fields_of_our_own() -> None:
    out = io.StringIO()
    logs.set_up("info", as_json=True, stream=out)

    logging.getLogger("some.library").error("broker %s is away", 3)

    [line] = _lines(out)
    assert (line["event"], line["level"], line["logger"]) == ("broker 3 is away", "error", "some.library")
    assert "timestamp" in line


def test_what_is_below_the_level_is_not_written() -> None:
    out = io.StringIO()
    logs.set_up("warning", as_json=True, stream=out)

    structlog.get_logger("x").info("board_opened")
    logging.getLogger("some.library").info("chatter")

    assert out.getvalue() == ""


@pytest.mark.parametrize("as_json", [True, False])
def test_a_traceback_never_shows_values_of_variables(as_json: bool) -> None:
    out = io.StringIO()
    logs.set_up("info", as_json=as_json, stream=out)
    password = "hunter2" * 2

    try:
        raise RuntimeError("no")
    except RuntimeError:
        structlog.get_logger("x").exception("role_died")
        logging.getLogger("some.library").exception("it died")

    assert out.getvalue().count("RuntimeError: no") == 2
    assert password not in out.getvalue()


def test_a_fault_that_stays_is_one_line_until_it_changes_or_is_over() -> None:
    trouble = logs.Trouble(structlog.get_logger("x"))
    with capture_logs() as lines:
        for kind in ("away", "away", "slow", "slow"):
            trouble.warn("redis_away", kind, reason=kind)
        trouble.over()
        trouble.warn("redis_away", "slow", reason="slow")

    said = [(line["log_level"], line["reason"]) for line in lines]
    assert said == [
        ("warning", "away"),
        ("debug", "away"),
        ("warning", "slow"),
        ("debug", "slow"),
        ("warning", "slow"),
    ]


# -- what the code logs

LEVELS = {"debug", "info", "warning", "error", "critical", "exception"}


def _events() -> Iterator[tuple[str, ast.Call, ast.expr | None]]:
    """Every call of a logger in the package: where, the call, what it says first."""
    for path in sorted((ROOT / "server").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            is_log = (
                isinstance(called, ast.Attribute)
                and isinstance(called.value, ast.Name)
                and called.value.id == "log"
                and called.attr in LEVELS
            )
            is_tell = isinstance(called, ast.Name) and called.id == "tell" and _is_word(node)
            is_warn = isinstance(called, ast.Attribute) and called.attr == "warn"
            if is_log or is_tell or is_warn:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node, node.args[0] if node.args else None


def _is_word(call: ast.Call) -> bool:
    return bool(call.args) and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str)


def test_every_event_is_a_word_with_fields_beside_it() -> None:
    events = list(_events())
    assert len(events) > 40
    for where, call, said in events:
        assert isinstance(said, ast.Constant), where
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", str(said.value)), f"{where}: {said.value!r}"
        assert len(call.args) <= 2, f"{where}: fields have names"


@pytest.mark.parametrize("word", ["api_key", "token", "password", "secret", "redis_url", "database_url"])
def test_no_event_has_a_field_that_holds_a_secret(word: str) -> None:
    for where, call, _ in _events():
        assert word not in {keyword.arg for keyword in call.keywords}, where


# -- what a process logs


class Process:
    """A Rankcast of all roles on services that nothing has used, its log as JSON apart from its output."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.port = free_port()
        self.log, self.out = folder / "log", folder / "out"
        self.environment = os.environ | {
            "RANKCAST_LOG_JSON": "true",
            "RANKCAST_LOG_LEVEL": "debug",
            "RANKCAST_DATA_DIR": str(folder / "data"),
            "RANKCAST_PORT": str(self.port),
            "RANKCAST_DEMO": "true",
            "RANKCAST_CONSUMER_GROUPS": "false",
            **variables,
        }

    async def run_until_ready(self, *, then: list[tuple[str, str, dict[str, str]]]) -> int:
        """Start, make the requests (method, path, headers) once it is ready, stop; the exit code."""
        with self.log.open("wb") as log, self.out.open("wb") as out:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "server", "serve"),
                cwd=ROOT,
                env=self.environment,
                stdout=out,
                stderr=log,
            )
            try:
                await until(lambda: process.returncode is not None or self._ready(), within=60)
                async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.port}") as http:
                    for method, path, headers in then:
                        await http.request(method, path, headers=headers)
                process.terminate()
                return await asyncio.wait_for(process.wait(), 40)
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()

    async def _ready(self) -> bool:
        async with httpx.AsyncClient() as http:
            try:
                answer = await http.get(f"http://127.0.0.1:{self.port}/readyz")
            except httpx.TransportError:
                return False
            return answer.status_code == 200 and "demo_plays" in self.log.read_text()

    @property
    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


def _is_of_a_busy_machine(line: dict[str, object]) -> bool:
    """A deadline that a service missed since others had the processor is no noise: somebody should know."""
    return (
        re.search("[Tt]imeout|no answer|unreachable|deaf|did_not_stop|records_left", json.dumps(line))
        is not None
    )


async def test_a_fresh_start_logs_json_without_a_warning_or_a_secret(
    place: Path, redis_url: str, database_url: str, kafka_bootstrap: str
) -> None:
    key, secret = "the-key-of-this-test-0123456789", "the-secret-of-this-test-0123456789abc"
    process = Process(
        place,
        REDIS_URL=redis_url,
        DATABASE_URL=database_url,
        KAFKA_BOOTSTRAP_SERVERS=kafka_bootstrap,
        RANKCAST_TOPIC=f"fresh-{place.name}",
        RANKCAST_API_KEY=key,
        RANKCAST_TOKEN_SECRET=secret,
    )
    code = await process.run_until_ready(
        then=[
            ("POST", "/seasons/1/results", {"authorization": f"Bearer {key}"}),
            ("POST", "/seasons/1/results", {"authorization": "Bearer wrong-key-of-this-test"}),
            ("GET", "/seasons/1/leaderboard/stream", {"authorization": "Bearer wrong-token-of-this-test"}),
            ("GET", "/ws?token=token-in-an-address", {}),
        ]
    )

    told = process.log.read_text()
    assert code == 0, told
    assert all({"event", "level", "timestamp"} <= line.keys() for line in process.lines)
    loud = [line for line in process.lines if line["level"] not in ("debug", "info")]
    assert [line for line in loud if not _is_of_a_busy_machine(line)] == []
    events = {line["event"] for line in process.lines}
    assert {"log_opened", "demo_plays"} <= events  # the stop may come before the board is there
    for word in (key, secret, "wrong-key", "wrong-token", "token-in-an-address"):
        assert word not in told


async def test_a_password_in_an_address_that_does_not_work_is_not_told(place: Path, redis_url: str) -> None:
    address = "postgresql://somebody:hunter2hunter2@127.0.0.1:1/nowhere"
    process = Process(place, REDIS_URL=redis_url, DATABASE_URL=address, KAFKA_BOOTSTRAP_SERVERS="127.0.0.1:1")
    with process.log.open("wb") as log:
        running = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "server", "serve"),
            cwd=ROOT,
            env=process.environment,
            stdout=log,
            stderr=log,
        )
        try:
            await until(lambda: "service_not_up_yet" in process.log.read_text(), within=30)
        finally:
            running.kill()
            await running.wait()

    assert "hunter2" not in process.log.read_text()
