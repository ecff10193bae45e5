"""Embedded Kafka-protocol broker: Tansu, all in memory.

Everything is forgotten when it stops, so each start is another log and says so by a cluster id of its own.
Owns the broker's settings and the making of topics for tests. Never does: keep anything on disk but its log.
"""

import asyncio
import secrets
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from server.embedded import binaries
from server.embedded.process import HOST, Launch, Service


class Tansu(Service):
    """`folder` holds the program's output alone."""

    name = "Kafka"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._cluster_id = ""

    @property
    def address(self) -> str:
        """host:port, as `bootstrap_servers` takes it."""
        return f"{HOST}:{self.port}"

    def _launch(self) -> Launch:
        listen = f"tcp://{self.address}"
        self._cluster_id = secrets.token_hex(11)
        command: list[str | Path] = [binaries.tansu(), "broker", "--cluster-id", self._cluster_id]
        command += ["--listener-url", listen, "--advertised-listener-url", listen]
        command += ["--storage-engine", "memory://tansu/"]
        return Launch(command, env={})  # the program reads its options from the environment, too

    async def _answers(self) -> bool:
        return await cluster_id(self.port) == self._cluster_id


async def cluster_id(port: int) -> str:
    """What the broker on this loopback port calls its cluster; raises while nothing answers there."""
    _, writer = await asyncio.open_connection(HOST, port)  # the client would log each refusal
    writer.close()
    admin = AIOKafkaAdminClient(bootstrap_servers=f"{HOST}:{port}", request_timeout_ms=2000)
    try:
        await admin.start()
        return str((await admin.describe_cluster())["cluster_id"])
    finally:
        await admin.close()


async def create_topic(bootstrap: str, topic: str, partitions: int) -> None:
    """Make a topic with one replica; one that is there already is left as it is."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, partitions, 1)])
    finally:
        await admin.close()
