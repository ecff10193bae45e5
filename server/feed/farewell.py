"""Closing aiokafka's clients within a bound, whatever state their broker is in.

aiokafka's own `stop` waits for answers that a broker which is away will never give, and when it cancels a
fetch that rests between two tries, it ends half-way with that cancellation. What is left behind would connect
again, for ever.
Never does: decide when to close. Neighbours: `reader.py` and `producer.py` close with it.
"""

import asyncio
import contextlib
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

log = structlog.get_logger(__name__)

STOP_SECONDS = 3.0
END_SECONDS = 1.0


async def close_consumer(consumer: AIOKafkaConsumer) -> None:
    """Leave the group, if that can be said to anybody, and close the connections."""
    await _stopped(consumer, STOP_SECONDS)
    coordinator = consumer._coordinator
    names = ("_coordination_task", "_heartbeat_task", "_commit_refresh_task")
    await _ended([getattr(coordinator, name, None) for name in names])
    await _ended([consumer._fetcher and consumer._fetcher._fetch_task])
    await _disconnected(consumer._client)


async def close_producer(producer: AIOKafkaProducer) -> None:
    """Send what is under way, if anybody takes it, and close the connections."""
    await _stopped(producer, STOP_SECONDS)
    await _ended([producer._sender.sender_task])
    await _disconnected(producer.client)


async def _stopped(client: Any, within: float) -> None:
    """Let the client stop in a task of its own: a cancellation that comes out of it is not ours."""
    stopping = asyncio.create_task(client.stop())
    try:
        await asyncio.wait({stopping}, timeout=within)
    finally:
        await _ended([stopping])


async def _ended(tasks: list[asyncio.Task[Any] | None]) -> None:
    """Cancel tasks until they have taken notice."""
    every = [task for task in tasks if task is not None]
    left = {task for task in every if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=END_SECONDS)
    for task in every:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.info("client_not_closed_in_order", error=repr(error))


async def _disconnected(client: Any) -> None:
    """Close connections; once more, where the first time was missed."""
    await _ended([client._sync_task])
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            await client.close()
