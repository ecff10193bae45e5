"""Waiting for a condition with a deadline: what tests use where others would sleep."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable

PATIENCE = 3  # deadlines are for what never comes true: a busy machine is no failure


async def until(
    condition: Callable[[], object | Awaitable[object]], *, within: float = 10.0, every: float = 0.01
) -> None:
    """Return once `condition()` (plain or awaitable) is true; fails with its value when it never is.

    `within` is what a quiet machine needs, in seconds; a busy one gets `PATIENCE` times as long.
    """
    within *= PATIENCE
    deadline = time.monotonic() + within
    while True:
        value = condition()
        if inspect.isawaitable(value):
            value = await value
        if value:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"not true within {within} s: last value {value!r}")
        await asyncio.sleep(every)
