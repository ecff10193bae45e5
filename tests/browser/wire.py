"""A wire to the server that can be cut, frozen, barred for WebSockets, or led to another server.

Owns: one listening port for the life of a test, so that a client's address stays while servers come and go.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

HOST = "127.0.0.1"
_FORBIDDEN = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Wire:
    """Lines from clients to `target` (a port on this machine)."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        self.frozen = False  # lines that are open stay open, and nothing passes
        self.bars_sockets = False  # as proxies do that know nothing of WebSockets
        self.sockets_to: int | None = None  # where WebSockets are led instead
        self.sockets = 0  # WebSockets that were asked for
        self._lines: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Where clients find the server."""
        return f"http://{HOST}:{self.port}"

    def cut(self) -> None:
        """Reset every open line."""
        for line in self._lines:
            line.cancel()

    def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a client that has connected."""
        line = asyncio.create_task(self._serve(reader, writer))
        self._lines.add(line)
        line.add_done_callback(self._lines.discard)

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        opened: list[asyncio.StreamWriter] = [to_client]
        target = self.target
        try:
            head = await client.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET /ws"):
                self.sockets += 1
                target = self.sockets_to or target
                if self.bars_sockets:
                    to_client.write(_FORBIDDEN)
                    await to_client.drain()
                    return
            server, to_server = await asyncio.open_connection(HOST, target)
            opened.append(to_server)
            to_server.write(head)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(client, to_server))
                group.create_task(self._pump(server, to_client))
        except (OSError, asyncio.IncompleteReadError, ExceptionGroup):
            pass  # one side is gone: so is the other, below
        finally:
            for writer in opened:
                writer.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            if not self.frozen:
                writer.write(data)
        raise ConnectionResetError


@contextlib.asynccontextmanager
async def wire(target: int) -> AsyncIterator[Wire]:
    """A wire to the server at this port, for as long as the block runs."""
    made = Wire(target)
    take: Callable[[asyncio.StreamReader, asyncio.StreamWriter], None] = made.take
    listener = await asyncio.start_server(take, HOST, 0)
    made.port = listener.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        listener.close()
        made.cut()
        await asyncio.sleep(0)
