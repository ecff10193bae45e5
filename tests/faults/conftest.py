"""What a fault's test stands on: services of its own where it breaks them, the run's where it does not."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from server.embedded.valkey import Valkey
from tests import services
from tests.faults.arena import ALL, Arena, standing
from tests.services import PARTITIONS


@pytest.fixture
def own_apache_kafka(place: Path) -> Iterator[services.ApacheKafka]:
    """An Apache Kafka of the test's own; skipped with the reason where it is missing, never in CI."""
    services.ApacheKafka.require()
    server = services.ApacheKafka(place / "apache-kafka")
    services.run(server.start())
    yield server
    server.kill()


@dataclass(frozen=True)
class Ground:
    """What an arena stands on: a Valkey and a database of the test's own, a topic of the run's broker."""

    place: Path
    valkey: Valkey
    database_url: str
    kafka_bootstrap: str
    topic: str

    def standing(
        self,
        *,
        through: str | None = None,
        processes: Mapping[str, str] = ALL,
        partitions: int = PARTITIONS,
        **variables: str,
    ) -> AbstractAsyncContextManager[Arena]:
        """An arena on it; see `arena.standing`."""
        return standing(
            self.place,
            redis_url=self.valkey.address,
            database_url=self.database_url,
            kafka_bootstrap=self.kafka_bootstrap,
            topic=self.topic,
            through=through,
            processes=processes,
            partitions=partitions,
            **variables,
        )


@pytest.fixture
def ground(place: Path, own_valkey: Valkey, database_url: str, kafka_bootstrap: str, topic: str) -> Ground:
    """For tests that want the arena otherwise than `arena` has it."""
    return Ground(place, own_valkey, database_url, kafka_bootstrap, topic)


@pytest.fixture
async def arena(ground: Ground) -> AsyncIterator[Arena]:
    """All roles in one process, under load, on a Valkey of the test's own."""
    async with ground.standing() as found:
        yield found
