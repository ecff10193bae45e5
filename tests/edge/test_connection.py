"""A socket after its handshake: what is left of the handshake, client frames good and bad, dead lines."""

import asyncio
import contextlib
import gc
import socket
import struct

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory
from websockets.frames import Close, Opcode

from server.live.handshake import RankcastHttp
from tests.edge.clients import REQUEST, client, masked, raw
from tests.edge.stage import BOARD, connection_of, running
from tests.waiting import until

TEN = {player: 100 * player for player in range(1, 11)}
PING_COMMAND = masked(Opcode.TEXT, b'{"id":1,"op":"ping"}')


async def test_nothing_of_the_handshake_is_left() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        await viewer.top()
        state = stage.server.server_state
        await until(lambda: not state.tasks)
        gc.collect()
        left = [
            one for one in gc.get_objects() if isinstance(one, HttpToolsProtocol | WebSocketsSansIOProtocol)
        ]
        assert left == []
        assert {id(one) for one in state.connections} == {id(one) for one in stage.hub.viewers}


async def test_no_parser_is_kept_for_a_silent_socket() -> None:
    async with running(TEN) as stage, raw(stage.port) as viewer:
        await viewer.send(PING_COMMAND)
        await viewer.read_until(lambda: viewer.frames[-1:] and viewer.frames[-1]["type"] == "ok")
        assert connection_of(stage, viewer)._inbound is None


async def test_a_parser_is_kept_while_a_frame_is_on_its_way() -> None:
    async with running(TEN) as stage, raw(stage.port) as viewer:
        connection = connection_of(stage, viewer)
        await viewer.send(PING_COMMAND[:9])
        await until(lambda: connection._inbound is not None)
        await viewer.send(PING_COMMAND[9:])
        await viewer.read_until(lambda: viewer.frames[-1]["type"] == "ok" if viewer.frames else False)


async def test_bytes_that_follow_the_request_before_its_answer_are_not_lost() -> None:
    """A client that does not wait for the 101 is met all the same."""
    async with running(TEN) as stage:
        for _ in range(20):
            async with raw(stage.port, early=PING_COMMAND) as viewer:
                await viewer.read_until(lambda: len(viewer.frames) == 2)
                assert [frame["type"] for frame in viewer.frames] == ["welcome", "ok"]


async def test_compression_is_not_agreed_upon() -> None:
    """D4"""
    options = {"extensions": [ClientPerMessageDeflateFactory()]}
    async with running(TEN) as stage, client(stage.port, **options) as viewer:
        await viewer.top()
        assert viewer.line.protocol.extensions == []


async def test_a_command_in_fragments_with_a_ping_between_is_carried_out() -> None:
    async with running(TEN) as stage, raw(stage.port) as viewer:
        await viewer.send(masked(Opcode.TEXT, b'{"id":7,', fin=False))
        await viewer.send(masked(Opcode.PING, b"here?") + masked(Opcode.CONT, b'"op":"ping"}'))
        await viewer.read_until(lambda: viewer.frames[-1:] and viewer.frames[-1].get("id") == 7)
        assert [(frame.opcode, bytes(frame.data)) for frame in viewer.control] == [(Opcode.PONG, b"here?")]


async def test_a_close_is_answered_with_the_same_code() -> None:
    async with running(TEN) as stage, raw(stage.port) as viewer:
        await viewer.send(masked(Opcode.CLOSE, Close(4001, "done").serialize()))
        await viewer.read_to_end()
        assert viewer.close_code == 4001
        await until(lambda: not stage.hub.viewers)


async def test_a_close_without_a_code_is_answered_without_one() -> None:
    async with running(TEN) as stage, raw(stage.port) as viewer:
        await viewer.send(masked(Opcode.CLOSE))
        await viewer.read_to_end()
        assert viewer.close is not None
        assert viewer.close.data == b""
        assert stage.count("viewers_closed_total", code="1005") == 1


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (masked(Opcode.BINARY, b"{}"), 1003),
        (masked(Opcode.TEXT, b"\xff\xfe"), 1007),
        (masked(Opcode.CONT, b"x"), 1002),
        (b"\x81\x02{}", 1002),
        (masked(Opcode.TEXT, b"x" * 4097), 1009),
        (masked(Opcode.TEXT, b"x" * 4000, fin=False) + masked(Opcode.CONT, b"x" * 97), 1009),
    ],
    ids=["binary", "not UTF-8", "nothing to continue", "not masked", "too big", "too big in fragments"],
)
async def test_what_breaks_the_protocol_is_closed_with_its_code(data: bytes, code: int) -> None:
    """D8"""
    async with running(TEN) as stage, raw(stage.port) as viewer:
        await viewer.send(data)
        await viewer.read_to_end()
        assert viewer.close_code == code
        viewer.socket.close()
        await until(lambda: not stage.hub.viewers)
        assert stage.count("viewers_closed_total", code=str(code)) == 1


async def test_a_huge_frame_is_refused_by_its_header_while_others_go_on() -> None:
    """D8"""
    async with running(TEN) as stage, raw(stage.port) as rude, client(stage.port) as viewer:
        shown = await viewer.top()
        await rude.send(b"\x81\xff" + struct.pack("!Q", 2_000_000) + b"mask" + b"x" * 20_000)
        await rude.read_to_end()
        assert rude.close_code == 1009
        version = stage.board.set({1: 5000})
        await until(lambda: shown.version == version)


async def test_fragments_without_an_end_are_cut_by_the_rate() -> None:
    """D8"""
    async with running(TEN) as stage, raw(stage.port) as viewer:
        await viewer.send(masked(Opcode.TEXT, b"", fin=False) + masked(Opcode.CONT, b"", fin=False) * 1000)
        await viewer.read_until(lambda: viewer.close)
        assert viewer.close_code == 3013


async def test_a_client_that_leaves_while_frames_are_written_is_an_ordinary_leave(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """D6"""
    async with running(TEN) as stage:
        for step in range(30):
            async with raw(stage.port) as viewer:
                await viewer.command(id=1, op="subscribe", board=BOARD, view="top")
                linger = struct.pack("ii", 1, 0)  # closing the socket sends a reset
                viewer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                stage.board.set({1: 2000 + step})
            stage.board.set({2: 4000 + step})
        await until(lambda: not stage.hub.viewers)
        assert stage.count("subscriptions", view="top") == 0
        assert caplog.records == []


async def test_a_silent_socket_is_pinged_and_stays_while_it_answers() -> None:
    async with running(TEN, ping_every_s=0.1, pong_timeout_s=1.0) as stage, raw(stage.port) as viewer:
        for count in range(1, 6):
            await viewer.read_until(lambda: len(viewer.control) == count)  # noqa: B023  awaited in its round
            await viewer.send(masked(Opcode.PONG))
        assert connection_of(stage, viewer) in stage.hub.viewers
        assert {frame.opcode for frame in viewer.control} == {Opcode.PING}


async def test_a_socket_that_does_not_answer_pings_is_cut() -> None:
    """D2: nothing is pushed, so nothing but a ping could tell."""
    async with running(TEN, ping_every_s=0.1, pong_timeout_s=0.1) as stage, raw(stage.port) as viewer:
        await viewer.read_until(lambda: viewer.close)
        assert viewer.close_code == 3012
        assert [frame.opcode for frame in viewer.control] == [Opcode.PING]
        await until(lambda: not stage.hub.viewers)
        await until(lambda: not stage.server.server_state.connections)
        assert stage.count("viewers_closed_total", code="3012") == 1


async def test_sockets_that_vanish_without_a_word_are_gone_after_ping_and_timeout() -> None:
    """D2, G5: half of them close properly, half never answer again; the board is idle."""
    async with running(TEN, ping_every_s=0.2, pong_timeout_s=0.2) as stage:
        dead = [raw(stage.port) for _ in range(40)]
        for one in dead:
            await (await one.__aenter__()).command(id=1, op="subscribe", board=BOARD, view="top")
        for _ in range(40):
            async with client(stage.port) as viewer:
                await viewer.top()
        await until(lambda: not stage.hub.viewers)
        await until(lambda: not stage.server.server_state.connections)
        assert len(stage.hub.boards[BOARD].views["s12/top/100"].outbox) == 0
        for one in dead:
            await one.__aexit__(None, None, None)


async def test_a_socket_that_never_answers_the_close_is_cut() -> None:
    """D15"""
    async with running(TEN, close_timeout_s=0.2) as stage, raw(stage.port) as viewer:
        await viewer.send(PING_COMMAND * 30)
        await viewer.read_until(lambda: viewer.close)
        await until(lambda: not stage.server.server_state.connections)


@pytest.mark.parametrize("said", [b"", REQUEST[:60]], ids=["nothing", "half a request"])
async def test_a_connection_that_never_becomes_a_request_is_cut(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D15"""
    monkeypatch.setattr(RankcastHttp, "HEAD_TIMEOUT_S", 0.2)
    async with running(TEN) as stage:
        reader, writer = await asyncio.open_connection("127.0.0.1", stage.port)
        writer.write(said)
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), 30) == b""
        await until(lambda: not stage.server.server_state.connections)
        writer.close()


async def test_the_time_for_a_request_ends_with_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RankcastHttp, "HEAD_TIMEOUT_S", 0.2)
    async with running(TEN, heartbeat_ms=100) as stage, client(stage.port) as viewer:
        await viewer.top()
        await until(lambda: len(viewer.of("heartbeat")) == 5)


async def test_nothing_is_sent_after_the_close() -> None:
    """D6"""
    async with running(TEN) as stage, raw(stage.port) as viewer:
        await viewer.command(id=1, op="subscribe", board=BOARD, view="top")
        await viewer.read_until(lambda: viewer.screen.shows("s12/top/100"))
        await viewer.send(PING_COMMAND * 30)
        await viewer.read_until(lambda: viewer.close)
        count = len(viewer.frames)
        view = stage.hub.boards[BOARD].views["s12/top/100"]
        version = stage.board.set({1: 5000})
        stage.hub.boards[BOARD].wake()
        await viewer.send(masked(Opcode.CLOSE, bytes(viewer.close.data)) if viewer.close else b"")
        await viewer.read_to_end()
        assert len(viewer.frames) == count
        assert len(view.outbox) == 0
        assert version == 2


async def test_heartbeats_come_in_a_quiet_time_and_tell_what_was_sent() -> None:
    async with running(TEN, heartbeat_ms=100) as stage, client(stage.port) as viewer:
        shown = await viewer.top(3)
        around = await viewer.around(5)
        await viewer.command("subscribe", board=BOARD, view="rankups")
        beat = await viewer.find(lambda frame: len(frame.get("heads", ())) == 2)
        assert beat["heads"] == {
            "s12/top/3": [shown.epoch, shown.version],
            "s12/around/5/2": [around.epoch, around.version],
        }
        version = stage.board.set({1: 5000})
        told = {"s12/top/3": [shown.epoch, version], "s12/around/5/2": [around.epoch, version]}
        await viewer.find(lambda frame: frame.get("heads") == told)


async def test_the_same_heartbeat_goes_to_all_who_watch_the_same() -> None:
    async with (
        running(TEN, heartbeat_ms=200) as stage,
        client(stage.port) as one,
        client(stage.port) as other,
    ):
        await one.top(3)
        await other.top(3)
        await until(lambda: one.of("heartbeat") and other.of("heartbeat"))
        assert one.of("heartbeat")[0]["heads"] == other.of("heartbeat")[0]["heads"]


async def test_tasks_do_not_grow_with_sockets() -> None:
    async with running(TEN) as stage:
        async with client(stage.port) as first:
            await first.top()
            before = len(asyncio.all_tasks())
        raws = [raw(stage.port) for _ in range(50)]
        for one in raws:
            await (await one.__aenter__()).command(id=1, op="subscribe", board=BOARD, view="top")
        await until(lambda: stage.count("subscriptions", view="top") == 50)
        assert len(asyncio.all_tasks()) <= before
        for one in raws:
            await one.__aexit__(None, None, None)
