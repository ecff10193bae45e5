"""Which event loops the tests of this ring run on."""

import asyncio
from collections.abc import Callable, Mapping

import pytest
import uvloop

# What these are about depends on the transports, which are asyncio's own or uvloop's.
ON_BOTH = {"test_connection", "test_shutdown", "test_slow", "test_sse"}


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """uvloop, on which the server runs where there is one; what depends on it on asyncio's loop too."""
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"uvloop": uvloop.new_event_loop}
    if item.path.stem in ON_BOTH:
        loops["asyncio"] = asyncio.new_event_loop
    return loops
