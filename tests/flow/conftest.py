"""Boards on the run's Valkey."""

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

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
