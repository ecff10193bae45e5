"""Frames in bytes: what we write is what a WebSocket client and an event stream read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Close, Opcode
from websockets.frames import Frame as Parsed
from websockets.protocol import CLIENT, Protocol

from server.core.position import Position
from server.core.wire import PING, Frame, Sequence, close_frame, event, pong_frame, text_frame


def _parsed(data: bytes) -> list[Parsed]:
    client = Protocol(CLIENT, max_size=None)
    client.receive_data(data)
    assert client.parser_exc is None
    return [frame for frame in client.events_received() if isinstance(frame, Parsed)]


@pytest.mark.parametrize("length", [0, 1, 125, 126, 127, 65_535, 65_536, 200_000])
def test_a_text_frame_of_any_length_is_read_whole(length: int) -> None:
    [frame] = _parsed(text_frame(b"x" * length))
    assert (frame.opcode, frame.fin, len(frame.data)) == (Opcode.TEXT, True, length)


@given(st.binary(max_size=125))
def test_a_pong_carries_the_pings_data(data: bytes) -> None:
    [frame] = _parsed(pong_frame(data))
    assert (frame.opcode, bytes(frame.data)) == (Opcode.PONG, data)


def test_the_ping_is_empty() -> None:
    [frame] = _parsed(PING)
    assert (frame.opcode, frame.data) == (Opcode.PING, b"")


@given(st.sampled_from([1000, 1009, 3001, 3008, 4999]), st.text(max_size=200))
def test_a_close_frame_keeps_its_code_and_as_much_of_the_reason_as_fits(code: int, reason: str) -> None:
    [frame] = _parsed(close_frame(code, reason))
    close = Close.parse(bytes(frame.data))
    assert close.code == code
    assert reason.startswith(close.reason)
    assert len(close.reason.encode()) > 119 or close.reason == reason


def test_a_close_frame_without_a_code_is_empty() -> None:
    [frame] = _parsed(close_frame(None))
    assert (frame.opcode, frame.data) == (Opcode.CLOSE, b"")


def test_an_event_with_a_position_has_it_as_its_id() -> None:
    position = Position("5f0c6e1d2a3b4c5d", 7)
    expected = b'event: diff\nid: 5f0c6e1d2a3b4c5d-7\ndata: {"to":7}\n\n'
    assert event("diff", b'{"to":7}', position) == expected


def test_an_event_without_a_position_leaves_the_clients_cursor_alone() -> None:
    """G3: only frames that move the position have an id."""
    assert event("rankup", b"{}", None) == b"event: rankup\ndata: {}\n\n"


def test_both_forms_of_a_frame_carry_the_same_payload() -> None:
    frame = Frame("heartbeat", b'{"at":1}')
    assert frame.socket == text_frame(b'{"at":1}')
    assert frame.event == event("heartbeat", b'{"at":1}', None)
    assert frame.event is frame.event


def test_frames_in_sequence_are_one_write_of_both() -> None:
    first, second = Frame("season", b"{1}"), Frame("snapshot", b"{2}", Position("5f0c6e1d2a3b4c5d", 7))
    both = Sequence([first, second])
    assert both.socket == first.socket + second.socket
    assert both.event == first.event + second.event
    assert (both.kind, both.position) == ("snapshot", second.position)
