"""SCRIPT FLUSH again and again under load, between the calls of a batch and in the middle of them."""

import asyncio

import pytest

from server.board.connection import connect
from tests.faults.arena import Arena

pytestmark = pytest.mark.timeout(600)

FLUSHES = 400


async def test_scripts_that_are_flushed_again_and_again_cost_no_result_a6(arena: Arena) -> None:
    before = len(arena.feeder.acknowledged)
    async with connect(arena.redis_url) as redis:
        for _ in range(FLUSHES):
            await redis.script_flush()
            await asyncio.sleep(0.01)  # a batch has about as long
    assert len(arena.feeder.acknowledged) > before
    await arena.holds()
    arena.assert_viewers_stayed()
    assert arena.told("ingest", "scripts_sent_again") > 1
    assert await arena.role("ingest").metric("retries_total", part="scripts", reason="NoScriptError") > 1
    assert set(arena.watching.seats["s1"].stales) <= {"building"}  # before its first result
    assert "redis" not in arena.ready("ingest").blamed(arena.began)
