"""The roles of a process at work: started together, stopped together, and down together.

Owns one TaskGroup. A role that raises, or ends before anybody asked for it, takes the process down
(`Life.fail`): restarting a single role inside a process would hide the fault. Never knows what a role does.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import structlog

from server.errors import StartError
from server.web.life import Life

log = structlog.get_logger(__name__)

Run = Callable[[asyncio.Event], Awaitable[None]]


@asynccontextmanager
async def at_work(roles: Mapping[str, Run], life: Life, stop_seconds: float) -> AsyncIterator[None]:
    """Run the roles while the block runs; then let each end by itself, within `stop_seconds`."""
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_guarded(name, run, stop, life), name=name) for name, run in roles.items()]
        yield
        stop.set()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=stop_seconds)
            for task in late:
                log.warning("role_did_not_stop", role=task.get_name(), after_s=stop_seconds)
                task.cancel()


async def _guarded(name: str, run: Run, stop: asyncio.Event, life: Life) -> None:
    try:
        await run(stop)
        if not stop.is_set():
            raise StartError(f"role {name} ended by itself")
    except Exception as error:
        log.critical("role_died", role=name, exc_info=error)
        life.fail(StartError(f"role {name} died: {type(error).__name__}: {error}"))
        raise
