"""The life of one process, as the server and the lifespan tell it to each other.

Owns the order to stop (`stopping`), what has to be done before sockets are told (`drain`), and the fault that
takes the process down (`failure`). Neighbours: `app.py` sets the last two, `server.py` the first.
"""

import asyncio
from collections.abc import Callable, Coroutine


async def _nothing() -> None:
    """A process whose lifespan has not begun has nothing to drain."""


class Life:
    """One process's life; made inside the running event loop."""

    def __init__(self) -> None:
        self.stopping = asyncio.Event()  # no new input is taken
        self.ended = asyncio.Event()  # a part died: the process has to go down
        self.failure: BaseException | None = None
        self.drain: Callable[[], Coroutine[object, object, None]] = _nothing

    def fail(self, error: BaseException) -> None:
        """Take the process down because of this; the first fault is the one that is told."""
        self.failure = self.failure or error
        self.ended.set()
