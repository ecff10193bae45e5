"""A pooler in transaction mode: each transaction of a client lands on another connection to the server.

It keeps two connections a client and changes between them whenever a transaction has ended, so that whatever
relies on a session (a prepared statement, a lock of the session, a setting) shows at once.
"""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import secrets
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import urlsplit

HOST = "127.0.0.1"
PROTOCOL_3 = 196608
SSL_REQUEST = 80877103


@dataclass
class Backend:
    """One authenticated connection to PostgreSQL, and what it said of itself."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    parameters: bytes = b""


async def message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Read one message: its kind, and its body without the length."""
    kind = await reader.readexactly(1)
    (length,) = struct.unpack("!i", await reader.readexactly(4))
    return kind, await reader.readexactly(length - 4)


def packed(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


async def connect(url: str) -> Backend:
    """Open a connection and authenticate with SCRAM-SHA-256."""
    parts = urlsplit(url)
    assert parts.port is not None
    reader, writer = await asyncio.open_connection(HOST, parts.port)
    start = struct.pack("!i", PROTOCOL_3) + f"user\0{parts.username}\0database\0{parts.path[1:]}\0\0".encode()
    writer.write(struct.pack("!i", len(start) + 4) + start)
    backend, password, first, server_first = Backend(reader, writer), str(parts.password), "", ""
    while True:
        kind, body = await message(reader)
        if kind == b"R" and body[:4] == struct.pack("!i", 10):
            first = f"n=,r={secrets.token_hex(12)}"
            initial = f"n,,{first}".encode()
            writer.write(packed(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(initial)) + initial))
        elif kind == b"R" and body[:4] == struct.pack("!i", 11):
            server_first = body[4:].decode()
            writer.write(packed(b"p", proof(password, first, server_first)))
        elif kind in (b"S", b"K"):
            backend.parameters += packed(kind, body)
        elif kind == b"Z":
            return backend
        else:
            assert kind in b"RN", body


def proof(password: str, first: str, server_first: str) -> bytes:
    """The client's last word of SCRAM-SHA-256."""
    fields = dict(part.split("=", 1) for part in server_first.split(","))
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(fields["s"]), int(fields["i"]))
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    last = f"c=biws,r={fields['r']}"
    signature = hmac.digest(
        hashlib.sha256(client_key).digest(), f"{first},{server_first},{last}".encode(), "sha256"
    )
    mixed = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    return f"{last},p={base64.b64encode(mixed).decode()}".encode()


async def serve(url: str, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
    """Serve one client: answer its start, then pass messages on, each transaction to the other backend."""
    (length,) = struct.unpack("!i", await client.readexactly(4))
    start = await client.readexactly(length - 4)
    if start[:4] == struct.pack("!i", SSL_REQUEST):
        to_client.write(b"N")
        await serve(url, client, to_client)
        return
    backends = [await connect(url), await connect(url)]
    ready = packed(b"Z", b"I")
    to_client.write(packed(b"R", struct.pack("!i", 0)) + backends[0].parameters + ready)
    try:
        while True:
            await one_transaction(client, to_client, backends[0])
            backends.reverse()
    finally:
        for backend in backends:
            backend.writer.close()
        to_client.close()


async def one_transaction(
    client: asyncio.StreamReader, to_client: asyncio.StreamWriter, backend: Backend
) -> None:
    """Pass messages both ways until the backend is idle, outside of a transaction."""

    async def up() -> None:
        kind = b""
        while kind not in (b"Q", b"S"):
            kind, body = await message(client)
            backend.writer.write(packed(kind, body))

    async def down() -> bytes:
        while True:
            kind, body = await message(backend.reader)
            to_client.write(packed(kind, body))
            if kind == b"Z":
                return body

    status = b""
    while status != b"I":
        _, status = await asyncio.gather(up(), down())


@contextlib.asynccontextmanager
async def pooler(database_url: str) -> AsyncIterator[str]:
    """The URL of a pooler before the database."""
    serving: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.create_task(serve(database_url, reader, writer)))

    listener = await asyncio.start_server(accept, HOST, 0)
    parts = urlsplit(database_url)
    try:
        yield database_url.replace(f":{parts.port}/", f":{listener.sockets[0].getsockname()[1]}/")
    finally:
        listener.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
