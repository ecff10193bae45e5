"""Redis is there and does not do its work: frozen, full, without primary or replicas, busy with a script.

Nothing is skipped meanwhile, viewers have the last picture, and readiness says what is the matter.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from server.board.connection import connect
from server.embedded.valkey import Valkey
from tests.faults.arena import Arena
from tests.waiting import until

pytestmark = pytest.mark.timeout(600)

Act = Callable[[Redis], Awaitable[None]]

FROZEN_SECONDS = 30.0
BUSY_SECONDS = 6


async def lag(arena: Arena) -> float:
    """How many records ingest has not applied yet."""
    return await arena.role("ingest").metric("lag_records", role="ingest")


async def test_a_redis_that_was_frozen_for_half_a_minute_counts_nothing_twice(
    arena: Arena, own_valkey: Valkey
) -> None:
    thaw_at = time.monotonic() + FROZEN_SECONDS
    own_valkey.pause()
    await arena.ready("ingest").says("redis", "no answer within 2 s")
    assert arena.ready("ingest").now.status == 503
    await until(lambda: arena.watching.seats["s1"].stale == "unreachable", within=10)
    await arena.ready("ingest").says("ingest", "Redis does not answer", within=FROZEN_SECONDS)
    assert await lag(arena) > 2000
    await until(lambda: time.monotonic() > thaw_at, within=FROZEN_SECONDS)  # calls given up by then run now
    own_valkey.resume()
    await arena.ready("ingest").ready()
    await arena.feeder.more(1000)
    await arena.holds()
    arena.assert_viewers_stayed()
    assert arena.told("ingest", "redis_away", role="ingest") > 0
    assert await arena.role("ingest").metric("retries_total", part="ingest", reason="redis") > 0
    assert arena.told("web", "mirror_failed", board="s1") > 0
    assert await arena.web.metric("retries_total", part="mirror") > 0
    assert arena.told("web", "mirror_fresh", board="s1", after="unreachable") > 0


async def fill(redis: Redis) -> None:
    await redis.config_set("maxmemory", "1mb")


async def empty(redis: Redis) -> None:
    await redis.config_set("maxmemory", "0")


async def demote(redis: Redis) -> None:
    await redis.replicaof("127.0.0.1", 1)  # where nothing is


async def promote(redis: Redis) -> None:
    await redis.replicaof("NO", "ONE")


async def want_replicas(redis: Redis) -> None:
    await redis.config_set("min-replicas-to-write", "1")


async def want_none(redis: Redis) -> None:
    await redis.config_set("min-replicas-to-write", "0")


@pytest.mark.parametrize(
    ("refuse", "accept", "words"),
    [
        (fill, empty, "command not allowed when used memory > 'maxmemory'"),
        (demote, promote, "You can't write against a read only replica"),
        (want_replicas, want_none, "NOREPLICAS Not enough good replicas"),
    ],
    ids=["out_of_memory", "read_only", "without_replicas"],
)
async def test_a_redis_that_takes_no_writes_is_waited_for(
    arena: Arena, refuse: Act, accept: Act, words: str
) -> None:
    async with connect(arena.redis_url) as redis:
        await refuse(redis)
        await arena.ready("ingest").says("ingest", f"Redis refuses: {words}")
        assert arena.ready("ingest").now.status == 503
        await arena.feeder.more(4000)
        assert await lag(arena) > 2000
        await accept(redis)
    await arena.ready("ingest").ready()
    await arena.feeder.more(1000)
    await arena.holds()
    arena.assert_viewers_stayed()
    assert arena.told("ingest", "redis_away", role="ingest") > 0
    assert await arena.role("ingest").metric("retries_total", part="ingest", reason="redis") > 0
    assert [arena.watching.seats[board].epochs[1:] for board in ("s1", "s2")] == [[], []]


async def test_somebody_elses_script_that_blocks_redis_is_waited_for_a11(arena: Arena) -> None:
    async with (
        Redis.from_url(arena.redis_url, socket_timeout=None) as redis,
        Redis.from_url(arena.redis_url) as other,
    ):
        await redis.config_set("busy-reply-threshold", "100")
        killed_at = time.monotonic() + BUSY_SECONDS
        blocking = asyncio.ensure_future(redis.eval("while true do end", 0))
        await arena.ready("ingest").says("redis", "BUSY")
        await arena.ready("ingest").says("ingest", "Redis refuses: BUSY")
        await until(lambda: arena.watching.seats["s1"].stale == "unreachable", within=BUSY_SECONDS)
        await until(lambda: time.monotonic() > killed_at, within=BUSY_SECONDS)
        await other.script_kill()
        with pytest.raises(ResponseError, match="killed"):
            await blocking
    await arena.ready("ingest").ready()
    await arena.feeder.more(1000)
    await arena.holds()
    arena.assert_viewers_stayed()
    assert arena.told("ingest", "redis_away", role="ingest") > 0
    assert await arena.role("ingest").metric("retries_total", part="ingest", reason="redis") > 0
    assert arena.told("web", "mirror_fresh", board="s1", after="unreachable") > 0
