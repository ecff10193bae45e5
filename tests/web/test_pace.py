"""Pace: so many records a second."""

import asyncio

from server.feed.pace import Pace


async def test_a_speed_spreads_the_records_over_time() -> None:
    loop = asyncio.get_running_loop()
    pace = Pace(1000)
    began = loop.time()

    for _ in range(4):
        await pace.wait(50)

    assert loop.time() - began >= 0.15


async def test_without_a_speed_nothing_waits() -> None:
    waiting = asyncio.create_task(Pace(None).wait(10**9))
    await asyncio.sleep(0)

    assert waiting.done()
