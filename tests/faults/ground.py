"""An arena that several tests share, and what it stands on: a place, a Valkey, a database, each its own.

Owns their beginning and end. Each test leaves the arena healthy (`Arena.holds`), and the next one feeds it
again (`fed`). Never breaks anything.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from server.embedded.postgres import Postgres
from server.embedded.valkey import Valkey
from tests import guardian, services
from tests.faults.arena import ALL, Arena, standing

BEFORE = 500  # results between two tests' faults, so that each breaks something at work


@dataclass(frozen=True)
class Ground:
    """The services beside Kafka, and a folder for what the processes write."""

    place: Path
    valkey: Valkey
    database_url: str


@asynccontextmanager
async def ground(services_folder: Path, postgres: Postgres) -> AsyncIterator[Ground]:
    """Make it in the run's folder and server; nothing stays behind."""
    place = _place(services_folder)
    valkey = Valkey(place / "valkey", "test")
    await valkey.start()
    database_url = await services.new_database(postgres.address)
    try:
        yield Ground(place, valkey, database_url)
    finally:
        valkey.kill()
        await services.drop_database(postgres.address, database_url)
        guardian.clear(place)


@asynccontextmanager
async def sharing(
    services_folder: Path,
    postgres: Postgres,
    kafka_bootstrap: str,
    *,
    processes: Mapping[str, str] = ALL,
    rate: float | None = None,
    **variables: str,
) -> AsyncIterator[Arena]:
    """An arena on ground and a topic of its own, for all tests of a module; see `arena.standing`."""
    topic = await services.new_topic(kafka_bootstrap)
    async with (
        ground(services_folder, postgres) as ours,
        standing(
            ours.place,
            redis_url=ours.valkey.address,
            database_url=ours.database_url,
            kafka_bootstrap=kafka_bootstrap,
            topic=topic,
            processes=processes,
            partitions=services.PARTITIONS,
            **variables,
        ) as found,
    ):
        if rate is not None:
            await at_rate(found, rate)
        yield found


async def at_rate(arena: Arena, rate: float) -> None:
    """Feed so many results a second from now on: what breaks by order, not by load, needs fewer of them."""
    await arena.feeder.finish()
    arena.feeder.rate = rate
    arena.feeder.start()


def assert_viewers_stayed(arena: Arena) -> None:
    """The socket was never cut, and REST answered all along, in this test and those before it.

    A connection that was at rest for the server's whole keep-alive time may end as the next request is on its
    way: on a busy machine that happens, and every client asks again.
    """
    assert arena.watching.connections == 1
    failures = [text for text in arena.reader.failures if "disconnected without sending" not in text]
    assert failures == []


def _place(folder: Path) -> Path:
    place = Path(mkdtemp(dir=folder))
    place.chmod(0o755)  # PostgreSQL may run as another account
    return place


async def fed(arena: Arena) -> Arena:
    """The arena under load, after `holds` too."""
    if not arena.feeder.feeds:
        arena.feeder.start()
    await arena.feeder.more(BEFORE)
    return arena
