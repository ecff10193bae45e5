"""Boards on the run's Valkey, the archive in a PostgreSQL database of the test's own."""

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from server.archive.store import Archive
from server.board.connection import connect
from server.board.store import BoardStore
from server.metrics import Metrics
from server.settings import Settings


@pytest.fixture
def settings() -> Settings:
    return Settings()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    """A client of the emptied Valkey."""
    async with connect(redis_url) as client:
        yield client


@pytest.fixture
def boards(redis: Redis, settings: Settings, metrics: Metrics) -> BoardStore:
    return BoardStore(redis, settings, metrics)


@pytest.fixture
async def archive(database_url: str, settings: Settings, metrics: Metrics) -> AsyncIterator[Archive]:
    """PostgreSQL with the schema and nothing else."""
    archive = await Archive.connect(database_url, settings, metrics)
    await archive.migrate()
    yield archive
    await archive.close()
