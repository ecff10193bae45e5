"""Whether the process can do its work, part by part, with the reason where it cannot.

Owns the asking (all parts at once, each with a deadline), the answer's shape, and telling of changes: as a
metric and in the log. Never decides what a part needs: `parts.py` adds a check for each one that it opened.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog

from server.feed.backoff import wait_or_stop
from server.metrics import Metrics
from server.web.shapes import Part
from server.web.shapes import Readiness as Report

log = structlog.get_logger(__name__)

Check = Callable[[], Awaitable[str | None]]
CHECK_SECONDS = 2.0
LOOK_SECONDS = 2.0
START_SECONDS = 30.0  # before that a part that has not become ready is no news


class Readiness:
    """The checks of one process; a check gives None when its part is ready, else the reason."""

    def __init__(self) -> None:
        self._checks: dict[str, tuple[Check, bool]] = {}
        self._asking: asyncio.Task[Report] | None = None
        self._known: dict[str, bool] = {}  # what was told of each part last
        self._late: dict[str, asyncio.Future[str | None]] = {}  # checks that missed the deadline
        self._asked: set[asyncio.Future[str | None]] = set()  # checks that have not ended

    def add(self, part: str, check: Check, *, needed: bool = True) -> None:
        """Ask this part, too; one that is not `needed` is told of, and the process serves without it."""
        self._checks[part] = (check, needed)

    async def report(self) -> Report:
        """Ask every part. Callers at the same time share one round, so probes cannot pile up."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_all())
        return await asyncio.shield(self._asking)

    async def run(self, metrics: Metrics, stop: asyncio.Event) -> None:
        """Show each part as a metric until `stop` is set, and log it when one changes."""
        settled_at = time.monotonic() + START_SECONDS
        try:
            while not stop.is_set():
                for name, part in (await self.report()).parts.items():
                    metrics.ready.labels(name).set(part.ready)
                    if part.ready or name in self._known or time.monotonic() > settled_at:
                        self._tell(name, part)
                await wait_or_stop(stop, LOOK_SECONDS)
        finally:
            await self._end()

    async def _end(self) -> None:
        """Call off what still asks: it would use clients that are closed next."""
        asked = set(self._asked)
        for check in asked:
            check.cancel()
        if asked:
            await asyncio.wait(asked, timeout=CHECK_SECONDS)

    def _tell(self, name: str, part: Part) -> None:
        """Log a change; that a part is ready at first is none."""
        before, self._known[name] = self._known.get(name, True), part.ready
        if part.ready and not before:
            log.info("part_ready", part=name)
        elif before and not part.ready:
            log.warning("part_not_ready", part=name, reason=part.reason)

    async def _ask_all(self) -> Report:
        names = sorted(self._checks)
        parts = await asyncio.gather(*(self._ask(name, *self._checks[name]) for name in names))
        ready = all(part.ready or not part.needed for part in parts)
        return Report(ready, dict(zip(names, parts, strict=True)))

    async def _ask(self, name: str, check: Check, needed: bool) -> Part:
        """Ask one part. A check that does not end when it is cancelled is left behind, at most one a part."""
        deadline = time.monotonic() + CHECK_SECONDS
        late = Part(False, f"no answer within {CHECK_SECONDS:g} s", needed)
        if name in self._late and not await _ended(self._late[name], deadline):
            return late
        asking = asyncio.ensure_future(check())
        self._asked.add(asking)
        asking.add_done_callback(self._asked.discard)
        if not await _ended(asking, deadline):
            asking.cancel()
            asking.add_done_callback(_forget)
            self._late[name] = asking
            return late
        self._late.pop(name, None)
        if asking.cancelled():
            return Part(False, "the process is stopping", needed)
        try:
            reason = asking.result()
        except Exception as error:  # a part that cannot even be asked is not ready, whatever it raises
            reason = f"{type(error).__name__}: {error}"
        return Part(reason is None, reason, needed)


async def _ended(task: asyncio.Future[str | None], deadline: float) -> bool:
    done, _ = await asyncio.wait({task}, timeout=max(0.0, deadline - time.monotonic()))
    return bool(done)


def _forget(late: asyncio.Future[str | None]) -> None:
    """Take note of how a late check ended, which nobody waits for."""
    if not late.cancelled():
        late.exception()
