"""What `doctor` looks at in PostgreSQL: version, whether it takes writes, encoding, clock."""

import time

import asyncpg

from server.commands.doctor import Finding, clock_finding, good, wrong
from server.settings import Settings

OLDEST = 150_000


async def examine_postgres(settings: Settings) -> list[Finding]:
    """The findings about `settings.database_url`."""
    connection = await asyncpg.connect(settings.database_url)
    try:
        number = int(await connection.fetchval("SHOW server_version_num"))
        version = await connection.fetchval("SHOW server_version")
        read_only = await connection.fetchval("SHOW transaction_read_only") == "on"
        encoding = await connection.fetchval("SHOW server_encoding")
        now = float(await connection.fetchval("SELECT extract(epoch FROM clock_timestamp())::float8"))
        ahead_s = time.time() - now
    finally:
        await connection.close()
    return [
        _version(number, version),
        _writes(read_only=read_only),
        _encoding(encoding),
        clock_finding("PostgreSQL", ahead_s, settings),
    ]


def _version(number: int, text: str) -> Finding:
    if number >= OLDEST:
        return good("PostgreSQL", f"PostgreSQL {text}")
    return wrong("PostgreSQL", f"PostgreSQL {text} is too old", "run PostgreSQL 15 or later")


def _writes(*, read_only: bool) -> Finding:
    if not read_only:
        return good("PostgreSQL", "takes writes")
    return wrong(
        "PostgreSQL",
        "it is read-only: a standby, or default_transaction_read_only is on",
        "let DATABASE_URL name the primary",
    )


def _encoding(encoding: str) -> Finding:
    if encoding == "UTF8":
        return good("PostgreSQL", "encoding UTF8")
    return wrong(
        "PostgreSQL", f"encoding {encoding} cannot hold every name", "make the database with ENCODING 'UTF8'"
    )
