"""Events that never arrive: a deaf subscription, one that Redis ends, one whose buffer at Redis runs over.

The board on the viewer's screen is right all the same, in the same epoch and on the same socket.
"""

from typing import Any

import pytest

from server.board.connection import connect
from server.board.keys import BoardKeys
from tests.faults.arena import SUM, Arena
from tests.faults.conftest import Ground
from tests.flow.deaf_wire import wire_to
from tests.waiting import until

pytestmark = pytest.mark.timeout(600)

APART = {"web": "web", "rest": "ingest,persist,keeper"}


async def assert_nothing_was_replaced(arena: Arena) -> None:
    """The socket stayed, the epoch too, and holes were filled from the change log or by reading anew."""
    arena.assert_viewers_stayed()
    assert [len(seat.epochs) for seat in arena.watching.seats.values()] == [1, 1]
    assert await arena.web.metric("mirror_holes_total") > 0


async def retried(arena: Arena, times: int, **labels: str) -> None:
    """Wait until the subscription has been made again so often; `reason` names one reason."""

    async def often_enough() -> bool:
        made = await arena.web.metric("retries_total", part="board_events", **labels)
        return made >= times

    await until(often_enough, within=15, every=0.05)


async def heard_again(arena: Arena) -> None:
    """Wait until events come by the subscription."""
    before = await arena.web.metric("mirror_events_total", outcome="next")

    async def heard() -> bool:
        return await arena.web.metric("mirror_events_total", outcome="next") > before

    await until(heard, within=20, every=0.05)


async def test_a_subscription_that_goes_deaf_is_noticed_and_made_again_a7(ground: Ground) -> None:
    async with wire_to(ground.valkey.address) as wire, ground.standing(through=wire.url) as arena:
        for times in (1, 2, 3):
            wire.deafen_subscriptions()
            await retried(arena, times, reason="deaf")
            await heard_again(arena)
            await arena.feeder.more(1000)
        await arena.holds()
        await assert_nothing_was_replaced(arena)
        assert arena.told("web", "mirror_deaf") >= 3
        assert arena.told("web", "board_events_lost", given_up=True) >= 3
        assert "redis" not in arena.ready("web").blamed(arena.began)  # which it was not to blame for


async def test_a_wire_that_swallows_everything_without_closing_is_left_for_another_a7(ground: Ground) -> None:
    async with wire_to(ground.valkey.address) as wire, ground.standing(through=wire.url) as arena:
        wire.deafen_all()
        await arena.ready("ingest").says("redis", "no answer within 2 s")
        await until(lambda: arena.watching.seats["s1"].stale == "unreachable", within=10)
        await arena.feeder.more(4000)
        wire.accepts = True  # for connections that are made from now on
        await arena.ready("ingest").ready(within=40)
        await arena.holds()
        await assert_nothing_was_replaced(arena)
        assert arena.told("ingest", "part_not_ready", part="redis") > 0
        assert await arena.web.metric("retries_total", part="mirror") > 0
        assert arena.told("web", "mirror_failed", board="s1") > 0
        assert arena.told("web", "mirror_fresh", board="s1", after="unreachable") > 0


async def test_subscriptions_that_are_killed_again_and_again_cost_no_event_a7(arena: Arena) -> None:
    async with connect(arena.redis_url) as redis:

        async def subscribed() -> bool:
            """Whether there is the subscription of both boards: the process has another one, for names."""
            return "2" in [client["sub"] for client in await redis.client_list(_type="pubsub")]

        for times in (1, 2, 3, 4, 5):
            await until(subscribed)
            await redis.client_kill_filter(_type="pubsub")
            await retried(arena, times)  # a ping that breaks on it is another reason
            await arena.feeder.more(500)
    await arena.holds()
    await assert_nothing_was_replaced(arena)
    assert arena.told("web", "board_events_lost", given_up=False) >= 5
    assert "redis" not in arena.ready("web").blamed(arena.began)


async def test_a_web_process_that_slept_beyond_its_output_buffer_catches_up(ground: Ground) -> None:
    async with ground.standing(processes=APART) as arena, connect(arena.redis_url) as redis:
        await redis.config_set("client-output-buffer-limit", "pubsub 65536 32768 2")
        keys = BoardKeys(SUM)
        entries: list[Any] = await redis.xrevrange(keys.log, count=1) or []
        heard_before = entries[0][1][b"e"]
        arena.web.freeze()

        async def overrun() -> bool:
            """Events that were heard before change nothing, and fill what the kernel holds for a sleeper."""
            async with redis.pipeline(transaction=False) as pipe:
                for _ in range(200):
                    pipe.publish(keys.events, heard_before)
                await pipe.execute()
            found = await redis.info("stats")
            return int(found["client_output_buffer_limit_disconnections"]) > 0

        await until(overrun, within=30)
        arena.web.thaw()
        await arena.ready("web").ready()
        await arena.feeder.more(1000)
        await arena.holds()
        assert arena.watching.connections == 1
        assert [len(seat.epochs) for seat in arena.watching.seats.values()] == [1, 1]
        assert arena.told("web", "board_events_lost") >= 1
        assert await arena.web.metric("retries_total", part="board_events") >= 1
        assert await arena.web.metric("mirror_holes_total") > 0
