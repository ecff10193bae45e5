"""What `doctor` looks at in Rankcast itself: running seasons' boards, how far both readers are, audits.

Reads all three services and holds them against each other. Never waits for anything, and never repairs.
"""

import time
from collections.abc import Mapping

from server.archive.audits import StoredAudit
from server.archive.store import Archive
from server.board.connection import connect
from server.board.store import BoardStore, Standing
from server.commands.doctor import Finding, advice, good, wrong
from server.core.season import Season
from server.feed.ends import LogEnds
from server.feed.lag import lag
from server.metrics import Metrics
from server.settings import Settings, variable

PART = "Boards"
LONG_LAG = 20_000  # a second of the largest bursts
AUDITS_MISSED = 2


async def examine_boards(settings: Settings) -> list[Finding]:
    """The findings about boards, lag and audits."""
    archive = await Archive.connect(settings.database_url or "", settings, Metrics())
    redis = connect(settings.redis_url or "")
    ends = LogEnds(settings)
    try:
        await archive.migrate()
        return await _findings(settings, archive, BoardStore(redis, settings, Metrics()), ends)
    finally:
        await ends.close()
        await redis.aclose()
        await archive.close()


async def _findings(
    settings: Settings, archive: Archive, boards: BoardStore, log_ends: LogEnds
) -> list[Finding]:
    now_us = time.time_ns() // 1_000
    seasons = [it for it in await archive.seasons() if now_us < it.ends_us + it.grace_us]
    if not seasons:
        return [advice(PART, "no season runs", "make one: rankcast season create FILE.json")]
    log_number = await archive.current_log()
    if log_number is None:
        return [wrong(PART, "PostgreSQL has read no log yet", "start a process with the role persist")]
    ends = await log_ends.ends()
    stored = await archive.next_offsets(log_number)
    found = [_persist(ends, stored), await _markers(settings, archive, log_number, seasons[0], stored)]
    standings = await boards.standings([season.season_id for season in seasons])
    for season, standing in zip(seasons, standings, strict=True):
        found.append(_board(season, standing, log_number, ends))
        found.append(_audit(settings, season, await archive.last_audit(season.season_id)))
    return found


def _persist(ends: Mapping[int, int], stored: Mapping[int, int]) -> Finding:
    behind = _behind(ends, stored)
    if behind <= LONG_LAG:
        return good(PART, f"PostgreSQL is {behind} records behind the log")
    return wrong(
        PART,
        f"PostgreSQL is {behind} records behind the log",
        "is a process with the role persist running and ready, and PostgreSQL quick enough?",
    )


async def _markers(
    settings: Settings, archive: Archive, log_number: int, season: Season, stored: Mapping[int, int]
) -> Finding:
    """Whether PostgreSQL's word is fresh enough to stand in for dedup markers that have expired."""
    life = f"{settings.marker_life_s} s ({variable('marker_life_s')})"
    behind = [
        partition
        for partition in stored
        if (await archive.ask(log_number, partition, season.season_id, [])).behind
    ]
    if not behind:
        return good(PART, f"PostgreSQL keeps well within a dedup marker's life of {life}")
    return wrong(
        PART,
        f"persist is half a dedup marker's life of {life} or more behind in partitions {behind}: "
        "boards that need its word wait",
        "let persist run and catch up; boards go on by themselves then",
    )


def _board(season: Season, standing: Standing, log_number: int, ends: Mapping[int, int]) -> Finding:
    applied = standing.applied
    if applied is None or standing.lost:
        return wrong(
            PART,
            f"board {season.board} {'is not there' if applied is None else 'was reported lost'}",
            "a process with the role keeper rebuilds it within moments: is one running and ready?",
        )
    if applied.log != log_number:
        return wrong(
            PART,
            f"board {season.board} is of log {applied.log}, PostgreSQL reads log {log_number}",
            "a process with the role keeper rebuilds it within moments: is one running and ready?",
        )
    behind = _behind(ends, applied.offsets)
    if behind <= LONG_LAG:
        return good(PART, f"board {season.board} is {behind} records behind the log")
    return wrong(
        PART,
        f"board {season.board} is {behind} records behind the log",
        "is a process with the role ingest running and ready? More of them share the partitions",
    )


def _audit(settings: Settings, season: Season, last: StoredAudit | None) -> Finding:
    if last is None:
        return advice(
            PART,
            f"board {season.board} was never audited",
            f"rankcast audit {season.season_id}; the keeper does it every {settings.audit_every_s:g} s",
        )
    if not last.record.equal:
        return wrong(
            PART,
            f"the last audit of {season.board} found {sum(last.record.differences.values())} differences",
            f"rankcast reconcile {season.season_id} --repair, then rankcast audit {season.season_id}",
        )
    age_s = time.time() - last.finished_us / 1_000_000
    if settings.audit_every_s and age_s > AUDITS_MISSED * settings.audit_every_s:
        return wrong(
            PART,
            f"the last audit of {season.board} is {age_s / 3600:.0f} hours old",
            "is a process with the role keeper running and ready?",
        )
    return good(PART, f"the last audit of {season.board} found everything equal")


def _behind(ends: Mapping[int, int], offsets: Mapping[int, int]) -> int:
    return sum(lag(end, offsets.get(partition, 0)) or 0 for partition, end in ends.items())
