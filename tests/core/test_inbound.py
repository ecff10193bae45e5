"""What a client sends, as bytes cut anywhere: messages come out, violations have their close code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Close, Frame, Opcode

from server.core.inbound import (
    CloseFrame,
    Event,
    Fragment,
    Inbound,
    PingFrame,
    PongFrame,
    Text,
    Violation,
)

MAX = 200


def masked(opcode: Opcode, data: bytes = b"", *, fin: bool = True) -> bytes:
    return Frame(opcode, data, fin).serialize(mask=True)


def text(words: str, *, fin: bool = True) -> bytes:
    return masked(Opcode.TEXT, words.encode(), fin=fin)


def more(data: bytes, *, fin: bool = False) -> bytes:
    return masked(Opcode.CONT, data, fin=fin)


def read(data: bytes, inbound: Inbound | None = None) -> list[Event]:
    inbound = inbound or Inbound(MAX)
    inbound.feed(data)
    events: list[Event] = []
    while (event := inbound.next()) is not None:
        events.append(event)
        if isinstance(event, Violation | CloseFrame):
            break
    return events


def test_a_text_message_comes_out() -> None:
    assert read(text("Grüße")) == [Text("Grüße")]


def test_several_messages_in_one_read_come_out_one_by_one() -> None:
    assert read(text("a") + masked(Opcode.PING, b"x") + text("b")) == [Text("a"), PingFrame(b"x"), Text("b")]


@given(st.lists(st.text(max_size=30), min_size=1, max_size=5), st.data())
def test_bytes_may_be_cut_anywhere(words: list[str], data: st.DataObject) -> None:
    stream = b"".join(text(word) for word in words)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    inbound = Inbound(MAX)
    events: list[Event] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        events += read(stream[start:end], inbound)
    assert events == [Text(word) for word in words]
    assert inbound.is_idle


@given(st.binary(max_size=MAX), st.lists(st.integers(0, MAX), max_size=6))
def test_a_message_in_fragments_is_the_same_message(data: bytes, cuts: list[int]) -> None:
    words = data.decode(errors="replace")[:60]
    whole = words.encode()
    ends = sorted(min(cut, len(whole)) for cut in cuts)
    parts = [whole[start:end] for start, end in zip([0, *ends], [*ends, len(whole)], strict=True)]
    frames = [masked(Opcode.TEXT if n == 0 else Opcode.CONT, part, fin=False) for n, part in enumerate(parts)]
    events = read(b"".join(frames) + more(b"", fin=True))
    assert events == [Fragment()] * len(parts) + [Text(words)]


def test_control_frames_may_come_between_fragments_even_where_little_room_is_left() -> None:
    inbound = Inbound(MAX)
    assert read(text("x" * (MAX - 1), fin=False), inbound) == [Fragment()]
    assert read(masked(Opcode.PING, b"p" * 125) + masked(Opcode.PONG), inbound) == [
        PingFrame(b"p" * 125),
        PongFrame(),
    ]
    assert read(more(b"y", fin=True), inbound) == [Text("x" * (MAX - 1) + "y")]


def test_nothing_is_kept_between_messages() -> None:
    inbound = Inbound(MAX)
    read(text("a"), inbound)
    assert inbound.is_idle


@pytest.mark.parametrize("taken", [1, 2, 3, 6, 7])
def test_a_message_that_has_begun_is_kept(taken: int) -> None:
    inbound = Inbound(MAX)
    assert read(text("ab")[:taken], inbound) == []
    assert not inbound.is_idle


def test_a_fragment_without_bytes_is_a_message_that_has_begun() -> None:
    inbound = Inbound(MAX)
    assert read(text("", fin=False), inbound) == [Fragment()]
    assert not inbound.is_idle


def violation(data: bytes) -> int:
    [event] = [event for event in read(data) if isinstance(event, Violation)]
    return event.code


def test_a_message_that_is_too_big_is_refused_by_its_header_alone() -> None:
    """D8: nothing of it is waited for or kept."""
    header = Frame(Opcode.TEXT, b"x" * 2_000_000).serialize(mask=True)[:14]
    assert violation(header) == 1009


def test_fragments_that_are_too_big_together_are_refused() -> None:
    assert violation(text("x" * 150, fin=False) + more(b"y" * 51)) == 1009


def test_a_refused_size_names_the_limit_and_the_setting() -> None:
    [event] = read(text("x" * 201))
    assert isinstance(event, Violation)
    assert "201" in event.reason
    assert "200" in event.reason
    assert "RANKCAST_MAX_FRAME_BYTES" in event.reason


def test_a_limit_below_what_control_frames_may_have_still_holds_for_texts() -> None:
    inbound = Inbound(100)
    [event] = read(text("x" * 101), inbound)
    assert isinstance(event, Violation)
    assert event.code == 1009


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (masked(Opcode.BINARY, b"{}"), 1003),
        (masked(Opcode.TEXT, b"\xff\xfe"), 1007),
        (masked(Opcode.TEXT, b"\xed\xa0\x80"), 1007),
        (Frame(Opcode.TEXT, b"no mask").serialize(mask=False), 1002),
        (b"\xc1\x80mask", 1002),  # a reserved bit: compression was not agreed upon
        (b"\x83\x80mask", 1002),  # no such opcode
        (b"\x09\x80mask", 1002),  # a ping in fragments
        (b"\x89\xfe\x00\x7emask" + b"x" * 126, 1002),  # a ping that is too long
        (more(b"x"), 1002),
        (text("a", fin=False) + text("b"), 1002),
        (masked(Opcode.CLOSE, b"x"), 1002),
        (masked(Opcode.CLOSE, b"\x03\xee"), 1002),  # 1006 is never sent
        (masked(Opcode.CLOSE, b"\x03\xe8\xff"), 1007),
    ],
)
def test_a_violation_has_its_close_code(data: bytes, code: int) -> None:
    """D8"""
    assert violation(data) == code


def test_a_close_has_the_clients_code() -> None:
    assert read(masked(Opcode.CLOSE, Close(4001, "bye").serialize())) == [CloseFrame(4001)]
    assert read(masked(Opcode.CLOSE)) == [CloseFrame(None)]


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_no_bytes_raise(pieces: list[bytes]) -> None:
    inbound = Inbound(MAX)
    for piece in pieces:
        if any(isinstance(event, Violation | CloseFrame) for event in read(piece, inbound)):
            break
