"""What a WebSocket client may send after its handshake: frames of all kinds, and bytes that are none."""

import json
import struct
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from tests.wild.drawn import VALUES, WILD_TEXTS, drawn, mostly, nested, varied
from tests.wild.records import BEST, SUM

_boards = mostly(
    st.sampled_from((f"s{BEST}", f"s{SUM}")),
    st.one_of(
        st.sampled_from(("s999", f"s{BEST}:d:today", f"s{BEST}:w:2026-W42", "s0", "S1", f"s{BEST}:")),
        WILD_TEXTS,
    ),
)


@dataclass(frozen=True)
class WildPiece:
    """Bytes that come in one piece."""

    data: bytes


@st.composite
def _commands(draw: st.DrawFn) -> dict[str, Any]:
    op = draw(mostly(st.sampled_from(("subscribe", "subscribe", "unsubscribe", "ping", "auth")), WILD_TEXTS))
    fields: dict[str, Any] = {"id": draw(mostly(st.integers(1, 99), VALUES)), "op": op}
    if op == "subscribe":
        fields |= {"board": draw(_boards), "view": draw(st.sampled_from(("top", "around", "rankups", "all")))}
        for name, usual in (("limit", st.integers(1, 100)), ("radius", st.integers(0, 50))):
            if draw(st.booleans()):
                fields[name] = draw(mostly(usual, VALUES))
        fields["player"] = draw(mostly(st.integers(1, 60).map(str), VALUES))
        if draw(st.integers(0, 4)) == 0:
            known = st.fixed_dictionaries(
                {"epoch": st.just("5f0c6e1d2a3b4c5d"), "version": st.integers(0, 9)}
            )
            fields["have"] = draw(mostly(known, VALUES))
    elif op == "unsubscribe":
        fields["topic"] = draw(mostly(st.sampled_from((f"s{BEST}/top/100", f"s{SUM}/rankups")), VALUES))
    elif op == "auth":
        fields["token"] = draw(mostly(st.just("a.b.c"), VALUES))
    if draw(st.integers(0, 5)) == 0:
        fields[draw(WILD_TEXTS)] = draw(VALUES)
    return fields


_texts = st.one_of(
    _commands().map(lambda fields: json.dumps(fields).encode()),
    _commands().map(lambda fields: json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    VALUES.map(lambda value: json.dumps(value).encode()),
    st.sampled_from((b"", b"{", b"\xff\xfe", b"\xed\xa0\x80", b"nul", nested(2000).encode(), b'{"a":' * 600)),
)
_closes = st.one_of(
    st.just(b""),
    st.sampled_from((1000, 1001, 1005, 1006, 1015, 2999, 3000, 4999, 5000, 0)).map(
        lambda code: struct.pack("!H", code)
    ),
    st.just(b"\x03"),
    st.just(b"\x03\xe8\xff\xfe"),
)


@st.composite
def _pieces(draw: st.DrawFn) -> WildPiece:
    kind = draw(st.integers(0, 15))
    if kind < 9:
        return _piece(Opcode.TEXT, draw(_texts))
    if kind == 9:
        parts = draw(st.lists(st.binary(max_size=30), min_size=1, max_size=4))
        first = Frame(draw(st.sampled_from((Opcode.TEXT, Opcode.CONT))), draw(_texts)[:100], fin=False)
        rest = [Frame(Opcode.CONT, part, fin=draw(st.booleans())) for part in parts]
        return WildPiece(b"".join(frame.serialize(mask=True) for frame in (first, *rest)))
    if kind == 10:
        return _piece(Opcode.BINARY, draw(st.binary(max_size=60)))
    if kind == 11:
        return _piece(draw(st.sampled_from((Opcode.PING, Opcode.PONG))), draw(st.binary(max_size=125)))
    if kind == 12:
        return _piece(Opcode.CLOSE, draw(_closes))
    if kind == 13:
        size = draw(st.sampled_from((4096, 4097, 70_000, 2_000_000)))
        return _piece(Opcode.TEXT, b" " * size)
    if kind == 14:  # a head that promises more than anybody may send, without a mask, or with reserved bits
        odd = (
            b"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00",
            b"\x81\x05hello",
            b"\xf1\x80\x00\x00\x00\x00",
        )
        return WildPiece(draw(st.sampled_from(odd)))
    return WildPiece(draw(st.binary(min_size=1, max_size=40)))


def _piece(opcode: Opcode, data: bytes) -> WildPiece:
    return WildPiece(Frame(opcode, data).serialize(mask=True))


def wild_pieces(count: int) -> list[WildPiece]:
    """So many of them."""
    return drawn(_pieces(), count, _varied)


def _varied(chance: Random, piece: WildPiece) -> WildPiece:
    """The text of a frame varied and framed again, or the bytes of the frame themselves."""
    data = piece.data
    if len(data) > 6 and data[0] == 0x81 and data[1] & 0x7F == len(data) - 6 and chance.randrange(4):
        mask, masked = data[2:6], data[6:]
        text = bytes(byte ^ mask[at % 4] for at, byte in enumerate(masked))
        changed = varied(chance, text)
        if chance.randrange(4):  # what is no UTF-8 ends the line at once
            changed = changed.decode("utf-8", "replace").encode()
        return _piece(Opcode.TEXT, changed)
    return WildPiece(varied(chance, data))
