"""Joining while the board moves: no change falls between the first frame and membership (E7, D5)."""

import asyncio
import random
from contextlib import AsyncExitStack

import pytest

from server.live import fan_out, ticker
from tests.edge.clients import Client, client
from tests.edge.stage import Stage, running
from tests.waiting import until

MANY = {player: 1000 + player for player in range(1, 201)}


async def _move(stage: Stage, stop: asyncio.Event) -> None:
    """Change the board in a tight loop."""
    step = 0
    while not stop.is_set():
        step += 1
        stage.board.set({1 + step * 7919 % 200: 2000 + step * 104_729 % 90_000})
        await asyncio.sleep(0)


async def test_every_viewer_that_joins_while_results_stream_in_ends_with_the_board() -> None:
    """E7"""
    async with running(MANY) as stage, AsyncExitStack() as stack:
        stop = asyncio.Event()
        moving = asyncio.create_task(_move(stage, stop))
        viewers: list[Client] = []
        for _ in range(40):
            viewer = await stack.enter_async_context(client(stage.port))
            await viewer.top(50)
            await viewer.around(100)
            viewers.append(viewer)
        stop.set()
        await moving
        version = stage.board.set({1: 1_000_000, 100: 999_999})
        expected = stage.board.rows(50)
        for viewer in viewers:
            top, around = viewer.screen["s12/top/50"], viewer.screen["s12/around/100/2"]
            await until(lambda: top.version == around.version == version)  # noqa: B023  awaited in its round
            assert top.rows == expected
            assert around.rows == expected[:4]


async def test_who_stays_sees_every_version_while_others_come_and_go() -> None:
    """D5: the strict order is held by the screens, which accept no hole and no repetition."""
    async with running(MANY) as stage, client(stage.port) as stays:
        shown = await stays.top(50)
        stop = asyncio.Event()
        moving = asyncio.create_task(_move(stage, stop))

        async def come_and_go(seed: int) -> None:
            chance = random.Random(seed)
            for _ in range(10):
                async with client(stage.port) as viewer:
                    await viewer.top(50)
                    if chance.random() < 0.5:
                        await viewer.command("unsubscribe", topic="s12/top/50")
                        await viewer.top(50)

        await asyncio.gather(*(come_and_go(seed) for seed in range(10)))
        stop.set()
        await moving
        version = stage.board.set({1: 1_000_000})
        await until(lambda: shown.version == version)
        assert shown.rows == stage.board.rows(50)
        assert shown.whole == 1
        assert len(stage.hub.viewers) == 1


async def test_a_fan_out_that_is_cut_into_slices_reaches_everybody_once_and_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """D5, D12: between any two writes others join, leave, are read and see the board move on."""
    monkeypatch.setattr(fan_out, "_WRITES_AT_ONCE", 1)
    monkeypatch.setattr(ticker, "SLICE_S", 0.0)
    async with running(MANY) as stage, AsyncExitStack() as stack:
        viewers = [await stack.enter_async_context(client(stage.port)) for _ in range(20)]
        shown = [await viewer.top(50) for viewer in viewers]
        stop = asyncio.Event()
        moving = asyncio.create_task(_move(stage, stop))
        for viewer in viewers[:10] * 5:
            await viewer.command("unsubscribe", topic="s12/top/50")
            await viewer.top(50)
        stop.set()
        await moving
        version = stage.board.set({1: 1_000_000})
        await until(lambda: all(viewer.screen["s12/top/50"].version == version for viewer in viewers))
        expected = stage.board.rows(50)
        assert all(viewer.screen["s12/top/50"].rows == expected for viewer in viewers)
        assert all(one.whole == 1 for one in shown[10:])
