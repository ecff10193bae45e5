"""What persist tells PostgreSQL of the time up to which it will have everything that was in the log.

Never asks anybody, nor a clock: it puts together what a range and its reader know. Neighbours:
`persist_session.py` brings it with every range, `archive/logs.py` keeps it for all who ask about old results.
"""

from server.archive.logs import Evidence
from server.feed.decode import Decoded
from server.feed.reader import LogReader

YEAR_10000_MS = 253_402_300_800_000


def evidence_of(reader: LogReader, decoded: Decoded, now_s: float) -> Evidence:
    """The evidence that a range of the log brings with it when it is stored now (steady seconds)."""
    last_ms = decoded.last_ms
    known = last_ms is not None and 0 <= last_ms < YEAR_10000_MS
    end, ago = reader.end(decoded.partition), reader.heard_ago(decoded.partition)
    at_end = end is not None and ago is not None and end <= decoded.end
    return Evidence(
        timestamp_us=last_ms * 1000 if known and last_ms is not None else None,
        at_end_ago_us=int(ago * 1_000_000) if at_end and ago is not None else None,
        told_s=now_s,
    )
