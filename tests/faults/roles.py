"""Rankcast's processes as a test starts, kills, freezes and asks them: health, metrics, log lines."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import orjson
import psutil
from prometheus_client.parser import text_string_to_metric_families

from server.embedded.process import stop_all
from tests.services import ROOT
from tests.waiting import until

START_SECONDS = 60.0
STOP_SECONDS = 30.0


def http_client() -> httpx.AsyncClient:
    """A client that asks on a new connection each time: an old one may be closed just as it is used again."""
    return httpx.AsyncClient(timeout=30, limits=httpx.Limits(max_keepalive_connections=0))


@dataclass
class Role:
    """One process with some roles; at the same address after each start, all its log lines in one file."""

    name: str
    roles: str
    url: str
    environment: Mapping[str, str]
    log: Path
    process: asyncio.subprocess.Process | None = None
    client: httpx.AsyncClient = field(default_factory=http_client)

    @property
    def socket_url(self) -> str:
        """The address of the WebSocket."""
        return self.url.replace("http://", "ws://") + "/ws"

    @property
    def runs(self) -> bool:
        """Whether the process has not ended."""
        return self.process is not None and self.process.returncode is None

    async def start(self, **variables: str) -> None:
        """Start the process, with other `variables` than the arena's; `ready` waits for it."""
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "server", "serve", "--roles", self.roles),
                cwd=ROOT,
                env={**os.environ, **self.environment, **variables},
                stdout=log,
                stderr=log,
            )

    async def ready(self, within: float = START_SECONDS) -> None:
        """Wait until `/readyz` says yes; fails at once when the process has ended."""

        async def is_ready() -> bool:
            assert self.runs, f"{self.name} ended: {self.last_words()}"
            try:
                return (await self.client.get(f"{self.url}/readyz")).status_code == 200
            except httpx.TransportError:
                return False

        await until(is_ready, within=within, every=0.05)

    async def kill(self) -> None:
        """SIGKILL, as a crash would; nothing where it has ended."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    async def stop(self, within: float = STOP_SECONDS) -> int:
        """SIGTERM; the exit code, which has to come within so many seconds."""
        assert self.process is not None
        self.process.terminate()
        async with asyncio.timeout(within):
            return await self.process.wait()

    def freeze(self) -> None:
        """SIGSTOP: its connections stay open and nothing answers."""
        assert self.process is not None
        stop_all([psutil.Process(self.process.pid)])

    def thaw(self) -> None:
        """SIGCONT."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    # -- what it tells

    async def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that carry these labels: `rankcast_<name>` as /metrics has it."""
        text = (await self.client.get(f"{self.url}/metrics")).text
        return sum(
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == f"rankcast_{name}" and labels.items() <= sample.labels.items()
        )

    def lines(self) -> list[dict[str, Any]]:
        """Its log lines so far; a line that is none of structlog's has the key `text` alone."""
        if not self.log.exists():
            return []
        return [_parsed(line) for line in self.log.read_bytes().split(b"\n") if line]

    def told(self, event: str, /, **fields: object) -> list[dict[str, Any]]:
        """Log lines of this event with these fields."""
        wanted = {"event": event, **fields}
        return [line for line in self.lines() if wanted.items() <= line.items()]

    def end(self) -> str:
        """Whether it runs, else its last words."""
        return f"{self.name} runs" if self.runs else f"{self.name} ended: {self.last_words()}"

    def last_words(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else "no log"


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        found = None
    return found if isinstance(found, dict) else {"text": line.decode(errors="replace")}
