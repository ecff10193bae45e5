"""Audits in PostgreSQL: what each found, kept for good.

Owns: the queries. Never does: audit (`keeper/audit.py` does).
Neighbours: `store.py` calls these within a transaction; `GET …/leaderboard/audit` tells the newest one.
"""

from dataclasses import dataclass, fields

import orjson

from server.archive.database import Connection


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """What an audit found of a season's board as it was at (`epoch`, `version`), at `applied` of the log.

    `players` on the board, `results` in PostgreSQL, both sides' SHA-256 of the board, `differences` by kind,
    the first of them as sentences, how many seconds it took, and the fingerprint of the rows below the
    position: their number and hash.
    """

    season_id: int
    epoch: str
    version: int
    log_id: int
    applied: dict[int, int]
    players: int
    results: int
    sha256_board: str
    sha256_sql: str
    differences: dict[str, int]
    examples: list[str]
    seconds: float
    rows_below: int | None = None
    fingerprint: int | None = None

    @property
    def equal(self) -> bool:
        """Whether rows, totals and board agree on everything."""
        return not self.differences and self.sha256_board == self.sha256_sql


@dataclass(frozen=True, slots=True)
class StoredAudit:
    """An audit with its id and when it was done, in microseconds since the epoch."""

    audit_id: int
    finished_us: int
    record: AuditRecord


_NAMES = [field.name for field in fields(AuditRecord)]
_JSON = {"applied", "differences", "examples"}


async def save_audit(connection: Connection, audit: AuditRecord) -> int:
    """Keep an audit; return its id."""
    values = [getattr(audit, name) for name in _NAMES]
    shown = [
        orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode() if name in _JSON else value
        for name, value in zip(_NAMES, values, strict=True)
    ]
    places = ", ".join(f"${at}" for at in range(1, len(_NAMES) + 1))
    audit_id: int = await connection.fetchval(
        f"INSERT INTO audits ({', '.join(_NAMES)}) VALUES ({places}) RETURNING audit_id",  # noqa: S608  constants
        *shown,
    )
    return audit_id


async def last_audit(connection: Connection, season_id: int) -> StoredAudit | None:
    """Return the season's newest audit."""
    row = await connection.fetchrow(
        f"SELECT audit_id, finished_at, {', '.join(_NAMES)} FROM audits "  # noqa: S608  constants
        "WHERE season_id = $1 ORDER BY audit_id DESC LIMIT 1",
        season_id,
    )
    if row is None:
        return None
    values = {name: orjson.loads(row[name]) if name in _JSON else row[name] for name in _NAMES}
    values["applied"] = {int(partition): offset for partition, offset in values["applied"].items()}
    return StoredAudit(row["audit_id"], row["finished_at"], AuditRecord(**values))
