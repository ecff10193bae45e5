"""What the last audit of a board found: whether rows, totals and board were equal, and where."""

import msgspec
from starlette.responses import Response

from server.archive.audits import AuditRecord
from server.errors import RankcastError
from server.web import conditional, params
from server.web.operation import Answer, Content, Operation
from server.web.shapes import Audit
from server.web.state import Request

_EXAMPLE = Audit(
    audited_at=1791828191000,
    equal=True,
    epoch="5f0c6e1d2a3b4c5d",
    version=7,
    log=1,
    applied={"0": 1000, "1": 987},
    players=1000,
    results=1987,
    sha256="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    sha256_sql="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    differences=0,
    kinds={},
    seconds=1.5,
)


async def audit(request: Request) -> Response:
    """`GET …/leaderboard/audit`."""
    params.require_token(request)
    season = await params.season(request)
    last = await request.state["web"].audits.of(season.season_id)
    if last is None:
        raise RankcastError(
            "never_audited",
            f"Board {season.board} has not been audited yet; the keeper does, or `rankcast audit "
            f"{season.season_id}`",
        )
    body = msgspec.json.encode(_shape(last.record, last.finished_us // 1000))
    return conditional.answer(request, body, f"audit-{last.audit_id}")


def _shape(record: AuditRecord, audited_ms: int) -> Audit:
    return Audit(
        audited_at=audited_ms,
        equal=record.equal,
        epoch=record.epoch,
        version=record.version,
        log=record.log_id,
        applied={str(partition): offset for partition, offset in sorted(record.applied.items())},
        players=record.players,
        results=record.results,
        sha256=record.sha256_board,
        sha256_sql=record.sha256_sql,
        differences=sum(record.differences.values()),
        kinds=record.differences,
        seconds=round(record.seconds, 3),
    )


OPERATIONS = (
    Operation(
        "GET",
        "/seasons/{id}/leaderboard/audit",
        audit,
        "audit",
        "leaderboard",
        "The last audit of a board",
        "An audit holds every row, every total and every rank against each other at one position in the log; "
        "docs/audit.md tells how anybody can make the hash.",
        (params.SEASON, params.IF_NONE_MATCH),
        answers=(
            Answer(200, "what it found", Content(Audit, _EXAMPLE), etag=True),
            Answer(304, "the client has it (If-None-Match)"),
        ),
        problems=("bad_token", "token_expired", "unknown_season", "never_audited", "not_ready"),
    ),
)
