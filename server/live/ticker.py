"""A tick: at once after a rest, and then at most as often as its cost allows.

Owns: when the next tick comes, and slices of work between which the event loop gets its turn.
Never does: know what a tick does. Neighbours: `board` has one for its top views and one for its around views.
"""

import asyncio
from collections.abc import Awaitable, Callable

from server.core.pace import tick_interval

SLICE_S = 0.005
"""How long one slice of a fan-out may hold the event loop."""


class Slices:
    """Counts the time that work takes from the event loop, and when it is time to let others run."""

    def __init__(self, observe: Callable[[float], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._observe = observe
        self._begun = self.begun = self._loop.time()
        self.spent = 0.0  # seconds, without what others took in between

    @property
    def over(self) -> bool:
        """Whether this slice has lasted long enough."""
        return self._loop.time() - self._begun >= SLICE_S

    async def rest(self) -> None:
        """Let everything else that is ready run once."""
        self.end()
        await asyncio.sleep(0)
        self._begun = self._loop.time()

    def end(self) -> None:
        """The work is done, or rests."""
        took = self._loop.time() - self._begun
        self.spent += took
        self._observe(took)


class Ticker:
    """Runs `tick`, which returns the loop time at which it wants to be run again unasked (inf: never)."""

    def __init__(
        self,
        tick: Callable[[Slices], Awaitable[float]],
        longest_s: float,
        observe_tick: Callable[[float], None],
        observe_slice: Callable[[float], None],
    ) -> None:
        self._tick = tick
        self._longest_s = longest_s
        self._observe_tick, self._observe_slice = observe_tick, observe_slice
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """There is something to look at."""
        self._woken.set()

    async def run(self) -> None:
        """Tick until cancelled."""
        loop = asyncio.get_running_loop()
        again_at = float("inf")
        while True:
            await self._wait(again_at)
            self._woken.clear()
            slices = Slices(self._observe_slice)
            again_at = await self._tick(slices)
            slices.end()
            self._observe_tick(slices.spent)
            due = slices.begun + tick_interval(slices.spent, self._longest_s)
            await asyncio.sleep(max(0.0, due - loop.time()))

    async def _wait(self, again_at: float) -> None:
        if again_at == float("inf"):
            await self._woken.wait()
            return
        try:
            async with asyncio.timeout_at(again_at):
                await self._woken.wait()
        except TimeoutError:
            return
