"""A whole Rankcast as its own process, on the run's services, for tests from a file to a viewer's socket."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from server.embedded.process import free_port
from tests.services import ROOT
from tests.waiting import until

API_KEY = "a key of the tests"


@dataclass
class Running:
    """Where a Rankcast is, and how its command line is called beside it."""

    url: str
    environment: dict[str, str]
    log: Path
    _process: asyncio.subprocess.Process | None = None

    @property
    def socket_url(self) -> str:
        """The address of the WebSocket."""
        return self.url.replace("http://", "ws://") + "/ws"

    async def start(self) -> None:
        """Start the process, again at the same address after an end, and wait until it is ready."""
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "server", "serve"),
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
            )
        await until(self._ready, within=60)

    async def stop(self) -> None:
        """Stop it by SIGTERM; it has to end in order."""
        assert self._process is not None
        self._process.terminate()
        assert await asyncio.wait_for(self._process.wait(), 30) == 0, self.log.read_text()

    async def kill(self) -> None:
        """End it by SIGKILL, where it has not ended yet."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def _ready(self) -> bool:
        assert self._process is not None
        assert self._process.returncode is None, f"it ended: {self.log.read_text()}"
        async with httpx.AsyncClient() as client:
            try:
                return (await client.get(f"{self.url}/readyz")).status_code == 200
            except httpx.TransportError:
                return False

    async def command(self, *arguments: str) -> str:
        """Run `rankcast …`; what it prints. Fails with its error when it does."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "server", *arguments),
            cwd=ROOT,
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, error = await process.communicate()
        assert process.returncode == 0, f"rankcast {' '.join(arguments)}: {error.decode() or out.decode()}"
        return out.decode()


@asynccontextmanager
async def running(
    folder: Path, redis_url: str, database_url: str, kafka_bootstrap: str, topic: str, **variables: str
) -> AsyncIterator[Running]:
    """Start all roles in one process without the demo, wait until it is ready, and stop it by SIGTERM."""
    port = free_port()
    environment = os.environ | {
        "REDIS_URL": redis_url,
        "DATABASE_URL": database_url,
        "KAFKA_BOOTSTRAP_SERVERS": kafka_bootstrap,
        "RANKCAST_TOPIC": topic,
        "RANKCAST_GROUP_PREFIX": topic,
        "RANKCAST_DATA_DIR": str(folder / "data"),
        "RANKCAST_PORT": str(port),
        "RANKCAST_API_KEY": API_KEY,
        "RANKCAST_DEMO": "false",
        "RANKCAST_PONG_TIMEOUT_S": "60",  # viewers of a busy test may answer late
        **variables,
    }
    found = Running(f"http://127.0.0.1:{port}", environment, folder / "rankcast.log")
    try:
        await found.start()
        yield found
        await found.stop()
    finally:
        await found.kill()
