"""A stack in a process of its own, to be killed, interrupted and started again over the same folder."""

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import psutil

from server.embedded import runfile
from server.embedded.process import alive
from tests.services import ROOT
from tests.waiting import until

OUTSIDE = ("REDIS_URL", "DATABASE_URL", "KAFKA_BOOTSTRAP_SERVERS")


class Run:
    """One start over `data_dir` of a program that says `sign` once everything runs: here the holder alone."""

    program: tuple[str, ...] = ("tests.embedded.holder",)
    sign = "up"

    def __init__(self, data_dir: Path, **variables: str) -> None:
        self.data_dir = data_dir
        self._output = data_dir.with_suffix(f".{uuid.uuid4().hex}.out")
        clean = {key: value for key, value in os.environ.items() if key not in OUTSIDE}
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *self.program],
                stdout=output,
                stderr=output,
                cwd=ROOT,
                env=clean | {"RANKCAST_DATA_DIR": str(data_dir)} | variables,
                start_new_session=True,
            )

    @property
    def said(self) -> list[str]:
        return self._output.read_text().splitlines()

    async def up(self) -> runfile.RunInfo:
        """Wait until everything runs, and tell what the run file says."""
        await until(lambda: self.sign in self.said or self.process.poll() is not None, within=60)
        assert self.process.poll() is None, self.said
        info = runfile.find_running(self.data_dir)
        assert info is not None
        return info

    async def ended(self) -> int:
        """Wait until the program has ended by itself; the exit code."""
        await until(lambda: self.process.poll() is not None, within=60)
        return self.process.returncode

    async def end(self, number: signal.Signals) -> int:
        """Send a signal and wait; the exit code."""
        self.process.send_signal(number)
        return await self.ended()


class Serve(Run):
    """The same with the whole server on top: `rankcast serve`, as `make run` starts it."""

    program = ("server", "serve")
    sign = "Ctrl-C stops everything."

    def __init__(self, data_dir: Path, **variables: str) -> None:
        super().__init__(data_dir, **({"RANKCAST_PORT": "0", "RANKCAST_DEMO": "false"} | variables))


def still_there(info: runfile.RunInfo) -> list[str]:
    """The services of a run file whose processes still run."""
    left = []
    for record in info.services:
        if psutil.pid_exists(record.pid) and alive(process := psutil.Process(record.pid)):
            left.append(f"{record.name} {process.pid}")
    return left
