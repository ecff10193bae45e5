"""Ends what a test run started, however the run itself ended, kill -9 included.

Runs as a program of its own: waits until its standard input is closed, which the death of the test run does,
then kills every process that works in the run's folder and removes the folder.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import psutil

from server.embedded.process import kill_all


def works_in(process: psutil.Process, folder: Path) -> bool:
    """Whether the process has its working directory in the folder."""
    try:
        return Path(process.cwd()).is_relative_to(folder)
    except psutil.Error:
        return False


def clear(folder: Path) -> None:
    """Kill what works in the folder, and remove it."""
    left = [process for process in psutil.process_iter() if works_in(process, folder)]
    kill_all(left)
    shutil.rmtree(folder, ignore_errors=True)


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Start a guardian over the folder; it acts when the pipe to it is closed."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.guardian", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).parent.parent,
        start_new_session=True,
    )


if __name__ == "__main__":
    sys.stdin.read()
    clear(Path(sys.argv[1]))
