"""Gates: where a process of the machine stands still until the schedule lets it go on.

Owns: every exchange of a process with Redis, PostgreSQL, the log or a timer is a gate, named by what is
beyond it. The real roles run as tasks; which of them goes on, and how far, is the schedule's word alone. A
reply can be lost behind a gate, and a process that was killed gets nothing through any more.
Never does: know what a process is about. Neighbours: `services.py` puts gates before Redis and PostgreSQL,
`log.py` before the log, `world.py` opens them.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextvars import ContextVar
from typing import Any

from aiokafka.errors import KafkaError
from redis.exceptions import ConnectionError as RedisConnectionError

from server.archive.errors import ArchiveUnavailable

SPINS = 8  # turns of the loop after which a process that waits for no service has come to its next gate
STUCK_S = 0.1  # a service that has not answered by then waits for somebody who stands at a gate

_GATE: ContextVar["Gate | None"] = ContextVar("gate", default=None)


def _fault(what: str) -> Exception:
    """What a process hears when its exchange fails."""
    if what in ("begin", "commit", "cursor"):
        return ArchiveUnavailable("the connection is gone")
    return RedisConnectionError("the connection is gone") if what == "redis" else KafkaError("no broker")


class Gate:
    """The places at which one process stands. `flying`: exchanges that a service has not answered yet."""

    def __init__(self) -> None:
        self.waiting: list[tuple[str, asyncio.Future[bool]]] = []
        self.flying = 0
        self.dead = False
        self.stirred = asyncio.Event()

    async def stand(self, what: str) -> bool:
        """Wait to be let through; True: the reply of what follows is to be lost."""
        if self.dead:
            raise _fault(what)
        place = what, asyncio.get_running_loop().create_future()
        self.waiting.append(place)
        self.stirred.set()
        try:
            lost: bool = await place[1]
        finally:
            if place in self.waiting:
                self.waiting.remove(place)
        if self.dead:
            raise _fault(what)
        return lost

    def fly(self, by: int) -> None:
        """Count an exchange that begins (1) or has ended (-1)."""
        self.flying += by
        self.stirred.set()


@contextlib.contextmanager
def flying() -> Iterator[None]:
    """An exchange that no gate stands before: the process is on its way."""
    gate = _GATE.get()
    if gate is None:
        yield
        return
    gate.fly(1)
    try:
        yield
    finally:
        gate.fly(-1)


@contextlib.asynccontextmanager
async def through(what: str) -> AsyncIterator[None]:
    """Stand at the gate of the process that asks, then exchange; outside of processes there are no gates."""
    gate = _GATE.get()
    if gate is None:
        yield
        return
    lost = await gate.stand(what)
    gate.fly(1)
    try:
        yield
    finally:
        gate.fly(-1)
    if lost:
        raise _fault(what)


@contextlib.asynccontextmanager
async def transaction_gates(
    readonly: bool, begun: contextlib.AbstractAsyncContextManager[Any]
) -> AsyncIterator[Any]:
    """A gate before the transaction and, where it writes, one before its commit, while it is open."""
    gate = _GATE.get()
    if gate is None:
        async with begun as connection:
            yield connection
        return
    lost = await gate.stand("begin")
    gate.fly(1)
    try:
        async with begun as connection:
            yield connection
            if not readonly:
                gate.fly(-1)
                try:
                    lost |= await gate.stand("commit")
                finally:
                    gate.fly(1)
    finally:
        gate.fly(-1)
    if lost:
        raise _fault("commit")


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Stands for every wait of a process: until the schedule lets it go on."""
    gate = _GATE.get()
    if gate is not None and not stop.is_set():
        await gate.stand("wait")


def _turns(count: int) -> asyncio.Future[None]:
    """Done after so many turns of the loop."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def turn(left: int) -> None:
        if left:
            loop.call_soon(turn, left - 1)
        else:
            done.set_result(None)

    turn(count)
    return done


class Process:
    """A role, or a command, that runs from gate to gate."""

    def __init__(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.name = name
        self.gate = Gate()
        token = _GATE.set(self.gate)
        try:
            self.task = asyncio.create_task(work(), name=name)
        finally:
            _GATE.reset(token)
        self.task.add_done_callback(lambda _: self.gate.stirred.set())

    @property
    def ended(self) -> bool:
        return self.task.done()

    @property
    def places(self) -> list[str]:
        """What is beyond the gates at which it stands."""
        return [what for what, _ in self.gate.waiting]

    async def settle(self, unblock: Callable[[], Awaitable[None]]) -> None:
        """Wait until it stands at gates alone; `unblock` is called when a service does not answer."""
        gate = self.gate
        while True:
            await _turns(SPINS)
            if gate.flying == 0 and (self.ended or gate.waiting):
                break
            gate.stirred.clear()
            try:
                async with asyncio.timeout(STUCK_S):
                    await gate.stirred.wait()
            except TimeoutError:
                await unblock()
        if self.ended and not self.task.cancelled():
            self.task.result()

    def open(self, which: int, *, lost: bool = False) -> None:
        """Let it through one of the gates at which it stands."""
        _, place = self.gate.waiting.pop(which)
        if not place.done():  # else it has been called off, and leaves by itself
            place.set_result(lost)

    async def kill(self) -> None:
        """End it as kill -9 would: nothing that it does from here on has an effect."""
        self.gate.dead = True
        while not self.ended:
            self.task.cancel()
            for _, place in self.gate.waiting:
                if not place.done():
                    place.set_result(False)
            await asyncio.wait({self.task}, timeout=0.05)
        if not self.task.cancelled():
            self.task.exception()
