"""Calling the command line: in this process, where ten thousand calls take a minute, and as a process.

In this process `serve` and what waits for Kafka stop short of their work: their arguments are read as ever.
Services are named where nothing listens, so that the others find out at once.
"""

import contextlib
import io
import logging
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CoroutineType
from typing import Any

import psutil
import pytest
import structlog
import typer.main

from server import cli
from server.commands.located import CommandError
from tests.services import ROOT
from tests.wild.arguments import WildCall
from tests.wild.drawn import SEED

NOWHERE = {
    "REDIS_URL": "redis://127.0.0.1:1",
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
    "KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
    "RANKCAST_LOG_LEVEL": "error",
    "COLUMNS": "80",
}
LONG = ("serve", "replay", "examine", "create")
GROWTH = 16 * 2**20


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Commands of this process stop where they would serve or wait."""
    for name, value in NOWHERE.items():
        monkeypatch.setenv(name, value)
    run = cli._run

    def short(work: "CoroutineType[Any, Any, Any]") -> Any:
        if work.cr_code.co_name in LONG:
            work.close()
            raise CommandError("stopped short")
        return run(work)

    monkeypatch.setattr(cli, "_run", short)
    monkeypatch.setattr(cli, "app", typer.main.get_command(cli.app))  # made once, not for each call
    monkeypatch.setattr("sys.stdin", io.StringIO())  # nobody is there to answer
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def calls_do_no_harm(calls: Sequence[WildCall], file: Path) -> Counter[int]:
    """Each ends with 0, 1 or 2 and without a traceback, and leaves no memory behind; how often which code."""
    codes: Counter[int] = Counter()
    before = 0
    for number, call in enumerate(calls):
        code, told = _called(call.placed(file))
        said = f"{code} of seed {SEED}: {call.arguments!r}: {told[-2000:]}"
        assert code in (0, 1, 2), said
        assert "Traceback" not in told, said
        assert code == 0 or told.strip(), said
        codes[code] += 1
        if number == len(calls) // 10:
            before = _memory()
    assert _memory() - before < GROWTH
    return codes


def _called(arguments: list[str]) -> tuple[object, str]:
    told = io.BytesIO()
    out = io.TextIOWrapper(told, "utf-8", write_through=True)
    error = io.TextIOWrapper(told, "utf-8", errors="backslashreplace", write_through=True)  # as Python has it
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error), _argv(arguments):
        try:
            cli.main()
            code: object = 0
        except SystemExit as end:
            code = end.code if end.code is not None else 0
    return code, told.getvalue().decode()


@contextlib.contextmanager
def _argv(arguments: list[str]) -> Iterator[None]:
    before, sys.argv = sys.argv, ["rankcast", *arguments]
    try:
        yield
    finally:
        sys.argv = before


def _memory() -> int:
    return int(psutil.Process().memory_info().rss)


def call_of_a_process_does_no_harm(call: WildCall, file: Path) -> None:
    """The same of a process of its own; `serve` alone is not started."""
    arguments = call.placed(file)
    if arguments[:1] == ["serve"]:
        arguments += ["--roles", "nothing"]
    done = subprocess.run(
        [sys.executable, "-m", "server", *arguments],
        cwd=ROOT,
        env=os.environ | NOWHERE,
        capture_output=True,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    said = f"{done.returncode} of seed {SEED}: {arguments!r}: {done.stderr!r}"
    assert done.returncode in (0, 1, 2), said
    assert b"Traceback" not in done.stderr, said
