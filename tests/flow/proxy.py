"""A wire to a service that answers late: everything from the server arrives after a delay."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

HOST = "127.0.0.1"


@contextlib.asynccontextmanager
async def late_wire(port: int, delay_s: float) -> AsyncIterator[int]:
    """The port of a proxy to `port` on this machine, whose answers take `delay_s` longer."""
    pumps: set[asyncio.Task[None]] = set()
    loop = asyncio.get_running_loop()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
        try:
            while data := await reader.read(65536):
                loop.call_later(delay, _write, writer, data)
        finally:
            writer.transport.abort()

    async def serve(client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_connection(HOST, port)
        pumps.add(asyncio.create_task(pump(client, to_server, 0)))
        pumps.add(asyncio.create_task(pump(server, to_client, delay_s)))

    listener = await asyncio.start_server(serve, HOST, 0)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        for pumping in pumps:
            pumping.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    if not writer.is_closing():
        writer.write(data)
