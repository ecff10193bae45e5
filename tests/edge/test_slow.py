"""Readers that lag get the newest state and nothing in between, cost an integer, and harm nobody (D1, G4)."""

import asyncio
from typing import Any

from server.live.connection import Connection
from tests.edge.clients import RawClient, client, raw
from tests.edge.stage import BOARD, Stage, connection_of, running
from tests.waiting import until

MANY = {player: 1000 + player for player in range(1, 301)}
SLOW: dict[str, Any] = {"outbox_bytes": 4096, "resume_positions": 8}


async def _stall(stage: Stage, viewer: RawClient, limit: int = 300) -> Connection:
    """Subscribe and read no more than the first frame."""
    await viewer.command(id=1, op="subscribe", board=BOARD, view="top", limit=limit)
    await viewer.read_until(lambda: viewer.screen.shows(f"s12/top/{limit}"))
    return connection_of(stage, viewer)


async def _change_all(stage: Stage, step: int) -> int:
    """Change every row, and wait for the tick that shows it."""
    version = stage.board.set({player: 2000 + (player * 7919 + step * 104_729) % 90_000 for player in MANY})
    view = stage.hub.boards[BOARD].views["s12/top/300"]
    await until(lambda: view.position() == (stage.board.mirror.epoch, version), every=0.001)
    return version


async def _change_until_it_skips(stage: Stage, connection: Connection) -> int:
    """Change the board until the reader is owed something; returns the number of changes."""
    for step in range(2000):
        await _change_all(stage, step)
        view = stage.hub.boards[BOARD].views["s12/top/300"]
        if view.outbox.got(connection) != view.number:
            return step
    raise AssertionError("2000 whole boards fit into a socket that nobody reads")


async def test_a_reader_that_stops_and_comes_back_has_the_newest_board() -> None:
    async with running(MANY, **SLOW) as stage, raw(stage.port, receive_buffer=4096) as viewer:
        connection = await _stall(stage, viewer)
        await _change_until_it_skips(stage, connection)
        for step in range(100):
            version = await _change_all(stage, 5000 + step)
        shown = viewer.screen["s12/top/300"]
        await viewer.read_until(lambda: shown.version == version)
        assert shown.rows == stage.board.rows(300)
        assert shown.diffs + shown.whole < 100


async def test_what_is_kept_for_a_reader_that_stops_is_bounded() -> None:
    async with running(MANY, **SLOW) as stage, raw(stage.port, receive_buffer=4096) as viewer:
        connection = await _stall(stage, viewer)
        await _change_until_it_skips(stage, connection)
        kept = connection._unsent()
        for step in range(50):
            await _change_all(stage, 5000 + step)
        largest_frame = 20_000
        assert connection._unsent() == kept <= stage.settings.outbox_bytes + largest_frame


async def test_a_reader_that_is_a_little_behind_is_led_on_by_one_diff() -> None:
    async with running(MANY, outbox_bytes=4096) as stage, raw(stage.port, receive_buffer=4096) as viewer:
        connection = await _stall(stage, viewer)
        await _change_until_it_skips(stage, connection)
        for step in range(10):
            version = await _change_all(stage, 5000 + step)
        shown = viewer.screen["s12/top/300"]
        await viewer.read_until(lambda: shown.version == version)
        assert shown.whole == 1
        last = viewer.frames[-1]
        assert last["to"] - last["from"] > 10


async def test_a_reader_that_is_too_far_behind_gets_a_snapshot() -> None:
    async with running(MANY, **SLOW) as stage, raw(stage.port, receive_buffer=4096) as viewer:
        connection = await _stall(stage, viewer)
        await _change_until_it_skips(stage, connection)
        for step in range(10):
            version = await _change_all(stage, 5000 + step)
        shown = viewer.screen["s12/top/300"]
        await viewer.read_until(lambda: shown.version == version)
        assert (viewer.frames[-1]["type"], shown.whole) == ("snapshot", 2)


async def test_others_get_every_frame_beside_a_reader_that_stops() -> None:
    async with (
        running(MANY, **SLOW) as stage,
        raw(stage.port, receive_buffer=4096) as stalled,
        client(stage.port) as healthy,
    ):
        connection = await _stall(stage, stalled)
        shown = await healthy.top(300)
        await _change_until_it_skips(stage, connection)
        before = shown.diffs
        for step in range(50):
            version = await _change_all(stage, 5000 + step)
        await until(lambda: shown.version == version)
        assert shown.diffs - before >= 50
        assert shown.whole == 1


async def test_a_slow_reader_is_not_cut_while_it_takes_anything() -> None:
    async with (
        running(MANY, **SLOW, write_deadline_s=2, ping_every_s=0.3, pong_timeout_s=2) as stage,
        raw(stage.port, receive_buffer=4096) as viewer,
    ):
        connection = await _stall(stage, viewer)
        await _change_until_it_skips(stage, connection)
        begun = asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() < begun + 5.0:  # beyond both deadlines
            assert await viewer.read(2048)
            await _change_all(stage, 9000)
            await _change_all(stage, 9001)
        assert connection in stage.hub.viewers


async def test_a_reader_that_takes_nothing_for_the_write_deadline_is_cut() -> None:
    async with (
        running(MANY, **SLOW, write_deadline_s=0.3) as stage,
        raw(stage.port, receive_buffer=4096) as viewer,
    ):
        connection = await _stall(stage, viewer)
        await _change_until_it_skips(stage, connection)
        await until(lambda: not stage.hub.viewers)
        assert stage.count("viewers_closed_total", code="3008") == 1
        await viewer.read_to_end()
        assert viewer.close_code is None


async def test_a_cut_reader_leaves_nothing_behind() -> None:
    """D2"""
    async with (
        running(MANY, **SLOW, write_deadline_s=0.3) as stage,
        raw(stage.port, receive_buffer=4096) as viewer,
    ):
        connection = await _stall(stage, viewer)
        await _change_until_it_skips(stage, connection)
        await until(lambda: not stage.hub.viewers)
        await until(lambda: not stage.server.server_state.connections)
        assert len(stage.hub.boards[BOARD].views["s12/top/300"].outbox) == 0
        assert stage.count("viewers", kind="socket") == 0
        assert stage.count("subscriptions", view="top") == 0


async def test_a_client_that_does_not_read_its_answers_is_not_read_either() -> None:
    async with (
        running(MANY, **SLOW, max_commands_s=100_000) as stage,
        raw(stage.port, receive_buffer=4096) as viewer,
    ):
        connection = await _stall(stage, viewer)
        sent = 0
        while not connection._is_full():
            sent += 1
            await viewer.command(id=sent, op="subscribe", board=BOARD, view="top", limit=300)
            await asyncio.sleep(0)
        for number in range(500):
            await viewer.command(id=10_000 + number, op="subscribe", board=BOARD, view="top", limit=300)
        assert connection._unsent() < stage.settings.outbox_bytes + 40_000
        await viewer.read_until(lambda: any(frame.get("id") == 10_499 for frame in viewer.frames))


async def test_the_first_frame_comes_whole_however_small_the_outbox_is() -> None:
    """G4"""
    async with running(MANY, outbox_bytes=1024) as stage, raw(stage.port, receive_buffer=2048) as viewer:
        await viewer.command(id=1, op="subscribe", board=BOARD, view="top", limit=300)
        await viewer.command(id=2, op="subscribe", board=BOARD, view="around", player="150", radius=50)
        await viewer.read_until(
            lambda: len(viewer.screen.topics) == 2 and viewer.frames[-1]["type"] == "around"
        )
        assert viewer.screen["s12/top/300"].rows == stage.board.rows(300)
        assert len(viewer.screen["s12/around/150/50"].rows) == 101


async def test_rank_ups_that_a_full_socket_misses_are_not_told_later() -> None:
    """E6: a toast is about a moment."""
    async with running(MANY, **SLOW) as stage, raw(stage.port, receive_buffer=4096) as viewer:
        await viewer.command(id=1, op="subscribe", board=BOARD, view="rankups")
        connection = await _stall(stage, viewer)
        await _change_until_it_skips(stage, connection)
        stage.board.set({999: 1_000_000})
        version = await _change_all(stage, 7000)
        shown = viewer.screen["s12/top/300"]
        await viewer.read_until(lambda: shown.version == version)
        assert "999" not in {rise["player"] for rise in viewer.screen.rankups}
