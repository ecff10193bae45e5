"""Every test of this ring runs on both event loops that the server may run on."""

import asyncio
from collections.abc import Callable, Mapping

import pytest
import uvloop


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """asyncio's own loop, and uvloop, whose transports are other ones."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
