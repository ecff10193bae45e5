"""The schema, brought up to date by numbered SQL files, each once and all of a start in one transaction.

Owns: the order, the table `schema_migrations`, and the refusal of a database that a newer version has been
at.
Never does: go back. Neighbours: `migrations/NNN_*.sql`; `Archive.migrate()` calls it at every start.
"""

from importlib.resources import files
from typing import NamedTuple

from server.archive.database import Connection
from server.errors import StartError

_LOCK = 7_265_110  # one of ours alone; held until the transaction ends


class Migration(NamedTuple):
    """One file: its number, its name, its SQL."""

    number: int
    name: str
    sql: str


def migrations() -> list[Migration]:
    """Return the files in order; their numbers rise by one from 1."""
    folder = files("server.archive") / "migrations"
    names = sorted(path.name for path in folder.iterdir() if path.name.endswith(".sql"))
    found = [Migration(int(name[:3]), name, (folder / name).read_text("utf-8")) for name in names]
    assert [migration.number for migration in found] == list(range(1, len(found) + 1)), names
    return found


async def migrate(connection: Connection, steps: list[Migration]) -> list[str]:
    """Apply what is missing, in the connection's transaction, one process at a time; return the files' names.

    Raises `StartError` where the database has a migration that these steps do not know.
    """
    await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
    await connection.execute(
        "CREATE TABLE IF NOT EXISTS schema_migrations ("
        "number INT PRIMARY KEY, name TEXT NOT NULL, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())"
    )
    done = await connection.fetch("SELECT number, name FROM schema_migrations ORDER BY number")
    known = {step.number: step.name for step in steps}
    for number, name in done:
        if known.get(number) != name:
            raise StartError(
                f"the database has migration {name}, unknown to this version of {len(steps)} migrations; "
                "start a newer version, or take another database"
            )
    missing = steps[len(done) :]
    for step in missing:
        await connection.execute(step.sql)
        await connection.execute(
            "INSERT INTO schema_migrations (number, name) VALUES ($1, $2)", step.number, step.name
        )
    return [step.name for step in missing]
