"""The pause before something is tried again: it grows while tries fail, and differs between processes."""

import asyncio
from random import random

_FIRST_S, _LONGEST_S = 0.05, 2.0


class Pauses:
    """Pauses of 0.05 s, then twice the last one up to 2 s; each is cut by up to a half at random."""

    def __init__(self) -> None:
        self._next_s = _FIRST_S

    def reset(self) -> None:
        """Begin with the shortest again: a try has succeeded."""
        self._next_s = _FIRST_S

    async def take(self) -> None:
        """Wait."""
        length_s, self._next_s = self._next_s, min(2 * self._next_s, _LONGEST_S)
        await asyncio.sleep(length_s * (0.5 + random() / 2))
