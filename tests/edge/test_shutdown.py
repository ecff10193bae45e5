"""The end of a server: everybody is told, nobody can hold it up (D3, E2)."""

import asyncio
import time

import pytest

from tests.edge.clients import REQUEST, client, raw
from tests.edge.stage import running
from tests.waiting import until

TEN = {player: 100 * player for player in range(1, 11)}


async def test_every_viewer_is_told_when_to_come_back_and_closed_with_the_code() -> None:
    async with running(TEN) as stage, client(stage.port) as one, client(stage.port) as other:
        await one.top()
        await stage.hub.shutdown()
        for viewer in (one, other):
            await viewer.done()
            assert viewer.frames[-1] == {
                "type": "bye",
                "code": 3001,
                "retry_after_ms": 1000,
                "jitter_ms": 5000,
            }
            assert viewer.line.close_code == 3001
        assert not stage.hub.viewers
        assert stage.count("viewers_closed_total", code="3001") == 2


async def test_viewers_who_do_not_answer_are_cut_after_a_moment(caplog: pytest.LogCaptureFixture) -> None:
    """D3: 20 healthy sockets, 5 that never answer the close, one in the middle of its handshake."""
    async with running(TEN, close_timeout_s=0.3) as stage:
        silent = [raw(stage.port) for _ in range(5)]
        for one in silent:
            await one.__aenter__()
        _, half = await asyncio.open_connection("127.0.0.1", stage.port)
        half.write(REQUEST[:40])
        healthy = [client(stage.port) for _ in range(20)]
        for viewer in healthy:
            await (await viewer.__aenter__()).top()
        begun = time.monotonic()
        await stage.hub.shutdown()
        stage.server.should_exit = True
        await until(lambda: not stage.server.server_state.connections)
        assert time.monotonic() - begun < 5
        assert not stage.hub.viewers
        assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
        half.close()
        for one in silent:
            await one.__aexit__(None, None, None)
        for viewer in healthy:
            await viewer.__aexit__(None, None, None)


async def test_a_server_that_stops_without_a_word_to_the_hub_still_says_bye() -> None:
    """uvicorn asks its connections to shut down; so does every one of ours."""
    async with running(TEN) as stage, client(stage.port) as viewer:
        await viewer.top()
        stage.server.should_exit = True
        await viewer.done()
        assert viewer.frames[-1]["type"] == "bye"
        assert viewer.line.close_code == 3001


async def test_who_comes_while_the_server_stops_is_sent_away_to_come_back() -> None:
    async with running(TEN) as stage:
        await stage.hub.shutdown()
        async with raw(stage.port) as late:
            await late.read_to_end()
            assert late.close_code == 3001


async def test_the_more_viewers_there_are_the_longer_they_spread() -> None:
    """E2"""
    async with running(TEN, bye_jitter_ms=2) as stage:
        viewers = [raw(stage.port) for _ in range(5)]
        lines = [await one.__aenter__() for one in viewers]
        await until(lambda: len(stage.hub.viewers) == 5)
        stopping = asyncio.create_task(stage.hub.shutdown())
        for line in lines:
            await line.read_until(lambda: line.close)  # noqa: B023  awaited in its round
            assert line.frames[-1]["jitter_ms"] == 5
        for one in viewers:
            await one.__aexit__(None, None, None)
        await stopping
