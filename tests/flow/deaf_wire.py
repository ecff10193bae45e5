"""A wire to Redis that can go deaf: bytes are taken and lost, and no connection is closed."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

HOST = "127.0.0.1"


@dataclass
class Wire:
    """`url` leads through the wire. Connections that were deafened stay so; those that come later work."""

    server_url: str
    port: int = 0
    accepts: bool = True
    subscribed: set[int] = field(default_factory=set)
    deaf: set[int] = field(default_factory=set)
    late_s: float = 0.0  # by so much later comes what is sent on connections that have subscribed
    connections: int = 0
    ends: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def url(self) -> str:
        """The server's URL with the wire's port."""
        parts = urlsplit(self.server_url)
        return urlunsplit(parts._replace(netloc=f":{parts.password}@{HOST}:{self.port}"))

    def deafen_subscriptions(self) -> None:
        """Lose everything on connections that have subscribed to something."""
        self.deaf |= self.subscribed

    def deafen_all(self) -> None:
        """Lose everything on all connections that there are, and on those to come until `accepts` again."""
        self.deaf |= set(range(self.connections))
        self.accepts = False

    def cut(self) -> None:
        """Close all connections that there are; new ones lead to `server_url` as it is then."""
        for end in self.ends:
            end.transport.abort()

    async def serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        """Connect one client through."""
        number = self.connections
        self.connections += 1
        if not self.accepts:
            self.deaf.add(number)
        port = urlsplit(self.server_url).port
        server, to_server = await asyncio.open_connection(HOST, port)
        self.ends |= {to_client, to_server}
        async with asyncio.TaskGroup() as pumps:
            pumps.create_task(self._pump(number, client, to_server))
            pumps.create_task(self._pump(number, server, to_client))
        self.ends -= {to_client, to_server}

    async def _pump(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                if b"\r\nSUBSCRIBE\r\n" in data:
                    self.subscribed.add(number)
                if number in self.deaf:
                    continue
                if number in self.subscribed and self.late_s:
                    asyncio.get_running_loop().call_later(self.late_s, _write, writer, data)
                else:
                    writer.write(data)
                    await writer.drain()
        writer.transport.abort()


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    if not writer.is_closing():
        writer.write(data)


@contextlib.asynccontextmanager
async def wire_to(server_url: str) -> AsyncIterator[Wire]:
    """A wire that hears well."""
    wire, serving = Wire(server_url), set[asyncio.Task[None]]()

    async def accept(client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(wire.serve(client, to_client))
        serving.add(task)
        task.add_done_callback(serving.discard)

    listener = await asyncio.start_server(accept, HOST, 0)
    wire.port = listener.sockets[0].getsockname()[1]
    try:
        yield wire
    finally:
        listener.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
