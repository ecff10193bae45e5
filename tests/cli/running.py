"""The command line in a process of its own, and a `serve` that runs."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.services import ROOT

SERVICE_NAMES = ("redis_url", "database_url", "kafka_bootstrap")
START_SECONDS = 60
SEASON = {
    "season_id": 12,
    "name": "Autumn",
    "starts_at": "2020-01-01T00:00:00Z",
    "ends_at": "2100-01-01T00:00:00Z",
}


@dataclass(slots=True)
class Cli:
    """The command line in one data folder, without any variable of the test's own environment."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RANKCAST_")}
        for name in ("REDIS_URL", "DATABASE_URL", "KAFKA_BOOTSTRAP_SERVERS"):
            kept.pop(name, None)
        return kept | {"RANKCAST_DATA_DIR": str(self.folder / "data"), "COLUMNS": "200", "TERM": "dumb"}

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "server", *arguments],
            cwd=ROOT,
            env=self.environment | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def start(self, *arguments: str, **variables: str) -> "Serving":
        out, log = self.folder / "out.txt", self.folder / "log.txt"
        with out.open("w") as stdout, log.open("w") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-m", "server", "serve", "--port", "0", *arguments],
                cwd=ROOT,
                env=self.environment | variables,
                stdout=stdout,
                stderr=stderr,
            )
        return Serving(process, out, log)

    def write(self, name: str, content: object) -> str:
        path = self.folder / name
        path.write_text(json.dumps(content))
        return str(path)


@dataclass(slots=True)
class Serving:
    """A `serve` that runs or has run."""

    process: "subprocess.Popen[bytes]"
    out: Path
    log: Path

    @property
    def url(self) -> str:
        found = re.search(r"Live board +(http://\S+)/", self.out.read_text())
        return found[1] if found else ""

    def listening(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return bool(self.url)

    def get(self, path: str) -> object:
        with urllib.request.urlopen(f"{self.url}{path}", timeout=10) as answer:
            return json.load(answer)

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send the signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)


def family(process: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def total(serving: Serving, season: int) -> int:
    top = serving.get(f"/seasons/{season}/leaderboard/top")
    assert isinstance(top, dict)
    return int(top["total"])
