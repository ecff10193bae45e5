"""A run of tests leaves no process and no folder, however it is interrupted."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.guardian import works_in
from tests.services import ROOT
from tests.waiting import until

HANGING_TEST = """
import pathlib, time

def test_that_hangs(valkey, postgres, kafka, services_folder):
    pathlib.Path({note!r}).write_text(str(services_folder))
    time.sleep(600)
"""


def workers_in(folder: Path) -> list[psutil.Process]:
    return [process for process in psutil.process_iter() if works_in(process, folder)]


def hanging_run(folder: Path, note: Path) -> subprocess.Popen[bytes]:
    """Start a run of tests that has all services up and hangs once it has written its folder into `note`."""
    test = folder / "test_hang.py"
    test.write_text(HANGING_TEST.format(note=str(note)))
    plugin = ("-p", "tests.conftest", "-p", "no:cacheprovider", "-c", "pyproject.toml")
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", *plugin, str(test)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_an_interrupted_run_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    note = tmp_path / "folder"
    run = hanging_run(tmp_path, note)
    try:
        await until(lambda: note.exists() and note.read_text(), within=60)
        folder = Path(note.read_text())
        assert {process.name() for process in workers_in(folder)} >= {"valkey-server", "postgres", "tansu"}
        run.send_signal(number)
        await until(lambda: run.poll() is not None, within=30)
        await until(lambda: not folder.exists(), within=30)
        assert workers_in(folder) == []
    finally:
        run.kill()
        run.wait()
