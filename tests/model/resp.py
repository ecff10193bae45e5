"""Redis's protocol in the fewest instructions: half of a schedule's time would go into a general client.

Owns: commands to bytes, bytes to replies; errors and the shape of replies are redis-py's own.
Never does: let others work: an exchange blocks. Neighbour: `services.py` sends the server's commands by it.
"""

import socket
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from redis import Redis
from redis._parsers.base import BaseParser
from redis.exceptions import ExecAbortError, RedisError

Command = tuple[tuple[Any, ...], Any]


class Wire:
    """One connection."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname, parts.port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._bytes, self._at = b"", 0
        self._shape: dict[str, Callable[..., Any]] = dict(Redis(protocol=2).response_callbacks)
        self.exchange([(("AUTH", parts.password), {})])

    def close(self) -> None:
        self._socket.close()

    def command(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """One command's reply; an error reply is raised."""
        reply = self.exchange([(args, options)])[0]
        if isinstance(reply, RedisError):
            raise reply
        return reply

    def transaction(self, commands: Sequence[Command]) -> list[Any]:
        """The replies of commands between MULTI and EXEC."""
        replies = self.exchange(
            [(("MULTI",), {}), *[(args, {"raw": True}) for args, _ in commands], (("EXEC",), {"raw": True})]
        )
        done = replies[-1]
        if isinstance(done, RedisError) or done is None:
            raise next((reply for reply in replies if isinstance(reply, RedisError)), ExecAbortError("EXEC"))
        return [self._shaped(reply, command) for reply, command in zip(done, commands, strict=True)]

    def exchange(self, commands: Sequence[Command]) -> list[Any]:
        """The replies of commands sent at once, errors among them."""
        self._socket.sendall(b"".join([_packed(args) for args, _ in commands]))
        return [self._shaped(self._reply(), command) for command in commands]

    def _shaped(self, reply: Any, command: Command) -> Any:
        args, options = command
        shape = None if options.get("raw") else self._shape.get(str(args[0]).upper())
        if shape is None or isinstance(reply, RedisError):
            return reply
        options.pop("keys", None)  # named for a cache of the client's
        return shape(reply, **options)

    def _line(self) -> bytes:
        while (end := self._bytes.find(b"\r\n", self._at)) < 0:
            self._more()
        line, self._at = self._bytes[self._at : end], end + 2
        return line

    def _more(self) -> None:
        some = self._socket.recv(65536)
        if not some:
            raise ConnectionError("Redis has closed the connection")
        self._bytes, self._at = self._bytes[self._at :] + some, 0

    def _reply(self) -> Any:
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            size = int(rest)
            if size < 0:
                return None
            while len(self._bytes) - self._at < size + 2:
                self._more()
            text, self._at = self._bytes[self._at : self._at + size], self._at + size + 2
            return text
        if kind == b"*":
            return None if rest == b"-1" else [self._reply() for _ in range(int(rest))]
        if kind == b":":
            return int(rest)
        if kind == b"-":
            return BaseParser.parse_error(rest.decode())  # type: ignore[no-untyped-call]  # redis-py's own
        return rest


def _packed(args: tuple[Any, ...]) -> bytes:
    words = [word if type(word) is bytes else str(word).encode() for word in args]
    if words[0] == b"SCRIPT FLUSH" or words[0] == b"SCRIPT LOAD":
        words[:1] = words[0].split()
    parts = [b"*%d" % len(words)]
    for word in words:
        parts.append(b"$%d" % len(word))
        parts.append(word)
    parts.append(b"")
    return b"\r\n".join(parts)
