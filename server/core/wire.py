"""One frame in every form that it travels in, encoded once: a whole WebSocket frame, a server-sent event.

Owns: the bytes around a payload. A server's WebSocket frames carry no mask, so equal frames are equal bytes,
and one `bytes` object serves every socket.
Never does: read what a payload says (`frames` makes payloads), or parse what clients send (`inbound` does).
Neighbours: `live/connection.py` writes `Frame.socket`, `live/sse.py` writes `Frame.event`.
"""

from collections.abc import Iterable
from struct import pack

from server.core.position import Position

PING = b"\x89\x00"
_MAX_REASON_BYTES = 123  # a control frame holds 125, the code takes two


class Frame:
    """A frame ready to be sent: `socket` to WebSockets, `event` to streams of server-sent events."""

    __slots__ = ("_event", "kind", "payload", "position", "socket")

    def __init__(self, kind: str, payload: bytes, position: Position | None = None) -> None:
        """`payload` is the frame's JSON; `position` is given where the frame moves a client's position."""
        self.kind = kind
        self.payload = payload
        self.position = position
        self.socket = text_frame(payload)
        self._event: bytes | None = None

    @property
    def event(self) -> bytes:
        """The frame as a server-sent event, made when first asked for."""
        if self._event is None:
            self._event = event(self.kind, self.payload, self.position)
        return self._event


class Sequence(Frame):
    """Frames that are sent together or not at all, as one write."""

    __slots__ = ("_parts",)

    def __init__(self, frames: Iterable[Frame]) -> None:
        self._parts = parts = tuple(frames)
        self.kind = parts[-1].kind
        self.payload = parts[-1].payload
        self.position = parts[-1].position
        self.socket = b"".join([part.socket for part in parts])
        self._event = None

    @property
    def event(self) -> bytes:
        """The frames as server-sent events, made when first asked for."""
        if self._event is None:
            self._event = b"".join([part.event for part in self._parts])
        return self._event


def text_frame(payload: bytes) -> bytes:
    """Return a whole unmasked WebSocket text frame around a UTF-8 payload."""
    return _header(0x81, len(payload)) + payload


def pong_frame(data: bytes) -> bytes:
    """Return the answer to a ping of up to 125 bytes."""
    return _header(0x8A, len(data)) + data


def close_frame(code: int | None, reason: str = "") -> bytes:
    """Return a close frame; the reason is cut to what a control frame holds, without cutting a character."""
    if code is None:
        return b"\x88\x00"
    text = reason.encode()[:_MAX_REASON_BYTES].decode(errors="ignore").encode()
    return _header(0x88, 2 + len(text)) + pack("!H", code) + text


def _header(head: int, length: int) -> bytes:
    if length < 126:
        return pack("!BB", head, length)
    if length < 65_536:
        return pack("!BBH", head, 126, length)
    return pack("!BBQ", head, 127, length)


def event(kind: str, payload: bytes, position: Position | None) -> bytes:
    """Return a server-sent event; only one that moves the client's position has an id, where it resumes."""
    number = f"id: {position}\n" if position is not None else ""
    return b"event: %s\n%sdata: %s\n\n" % (kind.encode(), number.encode(), payload)
