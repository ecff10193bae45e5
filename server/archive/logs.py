"""Logs and offsets in PostgreSQL: which log is read, how far, and the fence that keeps zombies out.

Owns: the numbers of logs, `persist_offsets`, and two rules. A log once left never returns: leaving it
deletes its offsets, so a batch of a process that still reads it finds nothing to move. And an offset moves
from where a batch was read to where it ends or not at all, so of two processes that read one partition only
one writes.

How far behind? `complete_to` is an instant with this promise: every record that was in the log by then lies
below `next_offset`, so it is in its table, or refused for good. It rests on the broker alone: on the Kafka
timestamp of a batch's last record (with LogAppendTime what was appended earlier has lower offsets), or on
having read to the log's end, told as "so long ago" and not as an instant, so that no other clock than
PostgreSQL's is compared. How long ago is reckoned once the transaction has begun, and from its beginning: a
process that stood still for an hour in between does not promise that hour. It never moves back and never
lies ahead of PostgreSQL's clock. A marker that is missing was set longer than its life ago, so its record
was in the log by then: ingest can take PostgreSQL's word on it once `complete_to` is younger than that
life; half of it is left as a margin for `CreateTime` and for producers whose clocks are wrong.

Never does: ask a broker. Neighbours: `store.py` calls these within a transaction; `feed/persist.py` tells
what it knows.
"""

import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from server.archive.database import Connection
from server.archive.errors import Fenced, LogLeft
from server.core.log_identity import LogIdentity

_LOCK = 7_265_112  # which log is the current one

Verify = Callable[[], Awaitable[None]]


class LogRange(NamedTuple):
    """Records of one partition of a log, from offset `start` to before `end`."""

    log: int
    partition: int
    start: int
    end: int


class Evidence(NamedTuple):
    """What persist knows of the time up to which it has read; both may be unknown (None).

    `timestamp_us`: Kafka timestamp of the last record below the batch's end, microseconds since the epoch.
    `at_end_ago_us`: it read to the log's end, and found nothing beyond, so many microseconds before `told_s`,
    an instant of the steady clock (None: before now).
    """

    timestamp_us: int | None = None
    at_end_ago_us: int | None = None
    told_s: float | None = None


async def log_number(connection: Connection, identity: LogIdentity) -> int:
    """Return the number of the log, given at its first sight and kept for ever."""
    values = (identity.cluster_id, identity.topic, identity.topic_id)
    find = "SELECT log_id FROM logs WHERE (cluster_id, topic, topic_id) = ($1, $2, $3)"
    number: int | None = await connection.fetchval(find, *values)
    if number is None:
        insert = "INSERT INTO logs (cluster_id, topic, topic_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
        await connection.execute(insert, *values)
        number = await connection.fetchval(find, *values)
    assert number is not None
    return number


async def current_log(connection: Connection) -> int | None:
    """Return the number of the log that persist reads now, None before its very first hold."""
    number: int | None = await connection.fetchval(
        "SELECT log_id FROM logs WHERE current_since IS NOT NULL AND left_at IS NULL"
    )
    return number


async def next_offsets(connection: Connection, log: int) -> dict[int, int]:
    """Return partition → next offset, of partitions that persist has held; none of a log that was left."""
    rows = await connection.fetch(
        "SELECT log_partition, next_offset FROM persist_offsets WHERE log_id = $1", log
    )
    return {row["log_partition"]: row["next_offset"] for row in rows}


async def believed() -> None:
    """Who has nobody to ask takes the log's word."""


async def hold(
    connection: Connection, log: int, partition: int, position_when_new: int, verify: Verify = believed
) -> int:
    """Return where to read the partition from; the first hold of a new log leaves the old one.

    `verify` raises where the topic is not that log any more. It is asked under the lock that every change of
    logs takes: a process that stood still while the topic was made anew twice would else leave the newest log
    for one that is gone, and nobody could ever return to it.
    """
    await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
    left = await connection.fetchval("SELECT left_at IS NOT NULL FROM logs WHERE log_id = $1", log)
    if left is None:
        raise ValueError(f"log {log} has no number; ask log_number first")
    if left:
        raise LogLeft(log)
    if await current_log(connection) != log:
        await verify()
        await _change_to(connection, log)
    await connection.execute(
        "INSERT INTO persist_offsets (log_id, log_partition, next_offset) VALUES ($1, $2, $3) "
        "ON CONFLICT DO NOTHING",
        log,
        partition,
        position_when_new,
    )
    offset: int = await connection.fetchval(
        "SELECT next_offset FROM persist_offsets WHERE log_id = $1 AND log_partition = $2", log, partition
    )
    return offset


async def _change_to(connection: Connection, log: int) -> None:
    """Leave the current log; deleting its offsets waits for batches in writing and shuts later ones out."""
    await connection.execute("DELETE FROM persist_offsets WHERE log_id <> $1", log)
    await connection.execute(
        "UPDATE logs SET left_at = clock_timestamp() WHERE current_since IS NOT NULL AND left_at IS NULL"
    )
    await connection.execute("UPDATE logs SET current_since = clock_timestamp() WHERE log_id = $1", log)


_MOVE = """
UPDATE persist_offsets SET next_offset = $4, complete_to = greatest(
    complete_to,
    CASE WHEN $5::timestamptz IS NOT NULL THEN least($5, clock_timestamp()) END,
    transaction_timestamp() - $6::bigint * interval '1 microsecond')
WHERE log_id = $1 AND log_partition = $2 AND next_offset = $3"""


async def move_offset(connection: Connection, span: LogRange, evidence: Evidence) -> None:
    """Move the partition's offset over the range, and lock it until the transaction ends; else `Fenced`."""
    ago_us = evidence.at_end_ago_us
    if ago_us is not None and evidence.told_s is not None:
        ago_us += int((time.monotonic() - evidence.told_s) * 1_000_000)
    moved = await connection.execute(_MOVE, *span, evidence.timestamp_us, ago_us)
    if moved != "UPDATE 1":
        offsets = await next_offsets(connection, span.log)
        raise Fenced(await current_log(connection), offsets.get(span.partition))
