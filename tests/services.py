"""What the fixtures of `conftest.py` are made of: real services for tests, and what may be missing."""

import asyncio
import base64
import os
import shutil
import subprocess
import uuid
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import asyncpg
import pytest

from server.embedded.errors import EmbeddedError
from server.embedded.process import HOST, Launch, Service, free_port
from server.embedded.tansu import cluster_id, create_topic

ROOT = Path(__file__).resolve().parent.parent
KAFKA_LIBS = ROOT / ".cache" / "kafka-libs"
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PARTITIONS = 4

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine from a plain fixture, on a loop of its own that leaves the tests' loops alone."""
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(work)


def missing(what: str) -> NoReturn:
    """Skip the test and say what is missing; where CI is set nothing may be missing."""
    if os.environ.get("CI"):
        pytest.fail(f"{what}, and with CI set nothing may be skipped", pytrace=False)
    pytest.skip(what)


def chromium_path() -> str:
    """The installed Chromium; skips (fails in CI) where there is none. `CHROMIUM` names another one."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    return found or missing("Chromium is not installed (Debian package: chromium)")


async def new_database(server_url: str) -> str:
    """Make an empty database on the server and give its URL."""
    name = f"test_{uuid.uuid4().hex}"
    connection = await asyncpg.connect(server_url)
    try:
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    finally:
        await connection.close()
    return server_url.rsplit("/", 1)[0] + f"/{name}"


async def drop_database(server_url: str, database_url: str) -> None:
    """Remove a database and end the sessions that are still in it."""
    connection = await asyncpg.connect(server_url)
    try:
        await connection.execute(f"DROP DATABASE {database_url.rsplit('/', 1)[1]} WITH (FORCE)")
    finally:
        await connection.close()


async def new_topic(bootstrap: str, partitions: int = PARTITIONS) -> str:
    """Make a topic of a name that no other test has."""
    name = f"results-{uuid.uuid4().hex}"
    await create_topic(bootstrap, name, partitions)
    return name


class ApacheKafka(Service):
    """Apache Kafka as one node in KRaft mode, from the jars in `.cache/kafka-libs`."""

    name = "Apache-Kafka"
    start_seconds = 90.0  # a Java program that starts while all cores are busy

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._controller = free_port()
        self._cluster_id = ""

    @property
    def address(self) -> str:
        """host:port, as `bootstrap_servers` takes it."""
        return f"{HOST}:{self.port}"

    @property
    def _properties(self) -> Path:
        return self.folder / "server.properties"

    def _java(self, *arguments: str | Path) -> list[str | Path]:
        heap = ("-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        return ["java", *heap, "-cp", f"{KAFKA_LIBS}/*", *arguments]

    def _launch(self) -> Launch:
        self._write_properties()
        if not (self.folder / "data").exists():
            self._format()
        return Launch(self._java("kafka.Kafka", self._properties))

    def _write_properties(self) -> None:
        listeners = f"PLAINTEXT://{self.address},CONTROLLER://{HOST}:{self._controller}"
        lines = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@{HOST}:{self._controller}",
            "listeners": listeners,
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": self.folder / "data",
            "log.message.timestamp.type": "LogAppendTime",
            "auto.create.topics.enable": "false",
            "offsets.topic.num.partitions": 4,
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "share.coordinator.state.topic.replication.factor": 1,
            "share.coordinator.state.topic.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
        }
        self._properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))

    def _format(self) -> None:
        some = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        self._cluster_id = some.replace("-", "_")  # one that begins with - is taken for an option
        command = self._java("kafka.tools.StorageTool", "format")
        command += ["--cluster-id", self._cluster_id, "--config", self._properties]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise EmbeddedError(f"Kafka's storage cannot be formatted: {done.stderr or done.stdout}")

    async def _answers(self) -> bool:
        return await cluster_id(self.port) == self._cluster_id

    @staticmethod
    def require() -> None:
        """Skip (in CI: fail) where Java or the jars are missing."""
        if shutil.which("java") is None:
            missing("Java is not installed (Debian package: default-jre-headless)")
        if not any(KAFKA_LIBS.glob("kafka_2.13-*.jar")):
            missing(f"Apache Kafka is not in {KAFKA_LIBS.relative_to(ROOT)} (make kafka-jars brings it)")
