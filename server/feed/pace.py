"""How fast somebody sends: so many records a second, whatever the sending itself takes.

Owns the arithmetic of when the next records are due. Never sends.
Neighbours: `replay` and the demo wait by it.
"""

import asyncio

CATCH_UP_S = 1.0  # after a standstill at most so much is made up for


class Pace:
    """Holds a sender to `speed` records a second (None: not at all), counted from its first call."""

    def __init__(self, speed: float | None) -> None:
        self._speed = speed
        self._due: float | None = None

    async def wait(self, count: int) -> None:
        """Return when the next `count` records are due."""
        if self._speed is None:
            return
        now = asyncio.get_running_loop().time()
        due = max(self._due or now, now - CATCH_UP_S)
        self._due = due + count / self._speed
        await asyncio.sleep(max(due - now, 0))
