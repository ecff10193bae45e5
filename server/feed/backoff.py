"""Waiting between two tries: longer each time, never in step with others, and never past a stop.

Owns the arithmetic and the wait. Never does: decide what is worth another try.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class Stopped(Exception):  # noqa: N818  what happened, not a fault
    """The stop came before the work was done."""


class Backoff:
    """Waits of `first` seconds, then twice as long each time up to `most`; chance cuts each to 50-100 %."""

    def __init__(self, first: float = 0.1, most: float = 2.0) -> None:
        self._first = first
        self._most = most
        self._tries = 0

    def reset(self) -> None:
        """It worked: the next wait is a short one."""
        self._tries = 0

    async def wait(self, stop: asyncio.Event) -> None:
        """Wait, or until `stop` is set."""
        longest = min(self._most, self._first * 2**self._tries)
        self._tries = min(self._tries + 1, 16)
        await wait_or_stop(stop, longest * random.uniform(0.5, 1.0))


async def wait_or_stop(stop: asyncio.Event, seconds: float) -> None:
    """Wait so long, or until `stop` is set."""
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return


async def insist(
    work: Callable[[], Awaitable[T]],
    passing: tuple[type[Exception], ...],
    on_failure: Callable[[Exception], None],
    stop: asyncio.Event,
) -> T:
    """Do the work until none of the `passing` faults comes of it; `on_failure` gets each. Raises Stopped."""
    backoff = Backoff()
    while True:
        try:
            return await work()
        except passing as fault:
            on_failure(fault)
        await backoff.wait(stop)
        if stop.is_set():
            raise Stopped
