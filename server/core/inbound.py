"""Client bytes to messages: the receiving half of WebSocket for one message at a time.

Owns: RFC 6455's rules for what a client may send (`websockets` parses frames), joining fragments, the limit
of sizes, and knowing when nothing is left, so that its owner drops it and keeps nothing for a silent socket.
Never does: answer, or read the clock or a socket.
Neighbours: `live/connection.py` makes one when bytes come and drops it when it `is_idle`.
"""

from collections.abc import Generator
from dataclasses import dataclass

from websockets.exceptions import PayloadTooBig, ProtocolError
from websockets.frames import Close, Frame, Opcode

_MAX_CONTROL = 125

# Protocol errors have close codes of their own in RFC 6455, section 7.4.1.
PROTOCOL_ERROR, UNSUPPORTED, INVALID_TEXT, TOO_BIG = 1002, 1003, 1007, 1009


@dataclass(frozen=True, slots=True)
class Text:
    """A whole text message."""

    text: str


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a message, of which more has to come."""


@dataclass(frozen=True, slots=True)
class PingFrame:
    """A ping, to be answered by a pong with the same data."""

    data: bytes


@dataclass(frozen=True, slots=True)
class PongFrame:
    """A pong, asked for or not."""


@dataclass(frozen=True, slots=True)
class CloseFrame:
    """The client closes; `code` is None where it named none."""

    code: int | None


@dataclass(frozen=True, slots=True)
class Violation:
    """The client broke the protocol: close with `code`; no more is read."""

    code: int
    reason: str


Event = Text | Fragment | PingFrame | PongFrame | CloseFrame | Violation


class Inbound:
    """Bytes that came and have not been read out; messages of more than `max_size` bytes are refused."""

    __slots__ = ("_begun", "_buffer", "_max_size", "_parsing")

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._buffer = bytearray()
        self._parsing: Generator[None, None, Frame] | None = None
        self._begun: bytes | None = None  # what has come of a fragmented message

    @property
    def is_idle(self) -> bool:
        """Whether all that came has been read and no message has begun."""
        return self._parsing is None and not self._buffer and self._begun is None

    def feed(self, data: bytes) -> None:
        """Take bytes from the network."""
        self._buffer += data

    def next(self) -> Event | None:
        """Return the next event, or None until more bytes come; the last is a `Violation` or `CloseFrame`."""
        try:
            frame = self._next_frame()
            return None if frame is None else self._event(frame)
        except PayloadTooBig as error:
            return self._too_big(error.size or 0)
        except ProtocolError as error:
            return Violation(PROTOCOL_ERROR, str(error))
        except UnicodeDecodeError:
            return Violation(INVALID_TEXT, "the text is not UTF-8")

    def _next_frame(self) -> Frame | None:
        """Parse on; the header alone decides whether a frame is too big, before its payload is waited for."""
        if self._parsing is None:
            if not self._buffer:
                return None
            self._parsing = Frame.parse(self._read, mask=True, max_size=max(self._room, _MAX_CONTROL))
        try:
            next(self._parsing)
        except StopIteration as done:
            self._parsing = None
            frame: Frame = done.value
            return frame
        return None

    def _read(self, count: int) -> Generator[None, None, bytes]:
        while len(self._buffer) < count:
            yield
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    @property
    def _room(self) -> int:
        return self._max_size - len(self._begun or b"")

    def _event(self, frame: Frame) -> Event:
        match frame.opcode:
            case Opcode.TEXT:
                return self._text(frame)
            case Opcode.CONT:
                return self._continued(frame)
            case Opcode.PING:
                return PingFrame(bytes(frame.data))
            case Opcode.PONG:
                return PongFrame()
            case Opcode.CLOSE:
                return CloseFrame(Close.parse(bytes(frame.data)).code if frame.data else None)
            case _:
                return Violation(UNSUPPORTED, "binary messages are not taken; send JSON as text")

    def _text(self, frame: Frame) -> Event:
        if self._begun is not None:
            return Violation(PROTOCOL_ERROR, "the fragmented message before has not ended")
        return self._joined(b"", frame)

    def _continued(self, frame: Frame) -> Event:
        if self._begun is None:
            return Violation(PROTOCOL_ERROR, "there is no message to continue")
        return self._joined(self._begun, frame)

    def _joined(self, begun: bytes, frame: Frame) -> Event:
        if len(frame.data) > self._room:
            return self._too_big(len(frame.data))
        data = begun + bytes(frame.data)
        self._begun = None if frame.fin else data
        return Text(data.decode()) if frame.fin else Fragment()

    def _too_big(self, size: int) -> Violation:
        size += len(self._begun or b"")
        limit = f"at most {self._max_size} are taken (RANKCAST_MAX_FRAME_BYTES)"
        return Violation(TOO_BIG, f"the message has at least {size} bytes; {limit}")
