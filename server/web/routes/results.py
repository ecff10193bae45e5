"""Results over HTTP: to Kafka, as those of game servers."""

import time

import msgspec
from starlette.responses import Response

from server.errors import RankcastError
from server.web import params, submit
from server.web.operation import Answer, Content, Operation
from server.web.shapes import Accepted, SubmittedResult
from server.web.state import Request

_EXAMPLE = SubmittedResult(
    "5f0c6e1d-2a3b-4c5d-8e9f-0a1b2c3d4e5f", 42, 1518, "2026-10-12T18:03:11.250Z", season_id=1
)


async def post(request: Request) -> Response:
    """`POST /seasons/{id}/results`."""
    params.require_key(request)
    process, web = request.state["process"], request.state["web"]
    if process.stopping.is_set():
        raise RankcastError("not_ready", "The server is stopping; send the same results to another one")
    season = await params.season(request)
    body = await params.body(request, process.settings)
    results = submit.parse(body, season, time.time_ns() // 1_000_000, process.settings)
    await web.writer.write(results)
    return Response(msgspec.json.encode(Accepted(len(results))), 202, media_type="application/json")


OPERATIONS = (
    Operation(
        "POST",
        "/seasons/{id}/results",
        post,
        "submit",
        "results",
        "Report match results",
        "One result or a list: all are taken or none. The answer comes when Kafka has acknowledged them. "
        "Sending a result again is harmless: of two with one match and player the first counts.",
        (params.SEASON,),
        body=Content(SubmittedResult | list[SubmittedResult], [_EXAMPLE]),
        answers=(Answer(202, "acknowledged by Kafka", Content(Accepted, Accepted(1))),),
        problems=(
            "bad_json",
            "unauthorized",
            "permission_denied",
            "unknown_season",
            "body_too_big",
            "batch_too_big",
            "bad_results",
            "log_unavailable",
            "not_ready",
        ),
        needs_key=True,
    ),
)
