"""Whether the process can do its work, part by part, with the reason where it cannot.

Owns the asking (all parts at once, each with a deadline) and the answer's shape. Never decides what a part
needs: `app.py` adds a check for each one that it opened.
"""

import asyncio
from collections.abc import Awaitable, Callable

from server.web.shapes import Part
from server.web.shapes import Readiness as Report

Check = Callable[[], Awaitable[str | None]]
CHECK_SECONDS = 2.0


class Readiness:
    """The checks of one process; a check gives None when its part is ready, else the reason."""

    def __init__(self) -> None:
        self._checks: dict[str, tuple[Check, bool]] = {}
        self._asking: asyncio.Task[Report] | None = None

    def add(self, part: str, check: Check, *, needed: bool = True) -> None:
        """Ask this part, too; one that is not `needed` is told of, and the process serves without it."""
        self._checks[part] = (check, needed)

    async def report(self) -> Report:
        """Ask every part. Callers at the same time share one round, so probes cannot pile up."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_all())
        return await asyncio.shield(self._asking)

    async def _ask_all(self) -> Report:
        names = sorted(self._checks)
        parts = await asyncio.gather(*(_ask(*self._checks[name]) for name in names))
        ready = all(part.ready or not part.needed for part in parts)
        return Report(ready, dict(zip(names, parts, strict=True)))


async def _ask(check: Check, needed: bool) -> Part:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            reason = await check()
    except TimeoutError:
        reason = f"no answer within {CHECK_SECONDS:g} s"
    except Exception as error:  # a part that cannot even be asked is not ready, whatever it raises
        reason = f"{type(error).__name__}: {error}"
    return Part(reason is None, reason, needed)
