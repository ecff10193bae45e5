"""What a fault's test stands on: services of its own where it breaks them, the run's where it does not."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from server.embedded.valkey import Valkey
from tests import services
from tests.faults.arena import Arena, standing


@pytest.fixture
def own_apache_kafka(place: Path) -> Iterator[services.ApacheKafka]:
    """An Apache Kafka of the test's own; skipped with the reason where it is missing, never in CI."""
    services.ApacheKafka.require()
    server = services.ApacheKafka(place / "apache-kafka")
    services.run(server.start())
    yield server
    server.kill()


@pytest.fixture
async def arena(
    place: Path, own_valkey: Valkey, database_url: str, kafka_bootstrap: str, topic: str
) -> AsyncIterator[Arena]:
    """All roles in one process, under load, on a Valkey of the test's own."""
    async with standing(
        place,
        redis_url=own_valkey.address,
        database_url=database_url,
        kafka_bootstrap=kafka_bootstrap,
        topic=topic,
    ) as found:
        yield found
