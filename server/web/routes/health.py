"""Whether the process lives, can serve, and what it measures: every process answers, whatever its roles."""

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

from server.web.operation import Answer, Content, Operation
from server.web.shapes import Alive, Part, Readiness
from server.web.state import Request

_NO_STORE = {"cache-control": "no-store"}


async def healthz(_request: Request) -> Response:
    """`GET /healthz`: the event loop turns; nothing else is asked."""
    return Response(msgspec.json.encode(Alive(True)), headers=_NO_STORE, media_type="application/json")


async def readyz(request: Request) -> Response:
    """`GET /readyz`: 503 with the reasons while a part is not ready or the process stops."""
    process = request.state["process"]
    report = await process.readiness.report()
    if process.stopping.is_set():
        report = Readiness(False, {**report.parts, "process": Part(False, "it is stopping")})
    status = 200 if report.ready else 503
    return Response(msgspec.json.encode(report), status, _NO_STORE, "application/json")


async def metrics(request: Request) -> Response:
    """`GET /metrics` in Prometheus's text format."""
    text = generate_latest(request.state["process"].metrics.registry)
    return Response(text, headers={**_NO_STORE, "content-type": CONTENT_TYPE_LATEST})


_NOT_READY = Readiness(False, {"redis": Part(False, "no answer within 2 s"), "postgres": Part(True)})
OPERATIONS = (
    Operation(
        "GET",
        "/healthz",
        healthz,
        "healthz",
        "operations",
        "Is the process alive?",
        answers=(Answer(200, "it is", Content(Alive, Alive(True))),),
    ),
    Operation(
        "GET",
        "/readyz",
        readyz,
        "readyz",
        "operations",
        "Can the process serve?",
        "Part by part, with the reason where one is not ready. `boards`: the boards of running seasons "
        "have been read (role web); `kafka`: results that are posted are acknowledged (web); `ingest`, "
        "`persist`: the log is read and every board, or PostgreSQL, takes what is read; `keeper`: every "
        "board that has to be rebuilt can be; `postgres`, `redis`: the service answers; `process`: it "
        "is not stopping. The answer is 503 while a part that is `needed` is not ready: a process of "
        "role web alone needs `boards` only, since reads are answered from memory.",
        answers=(
            Answer(200, "it can", Content(Readiness, Readiness(True, {"redis": Part(True)}))),
            Answer(503, "it cannot: the parts say why", Content(Readiness, _NOT_READY)),
        ),
    ),
    Operation(
        "GET",
        "/metrics",
        metrics,
        "metrics",
        "operations",
        "What the process measures",
        answers=(
            Answer(200, "Prometheus text", Content(None, "rankcast_lag_records 0.0\n", CONTENT_TYPE_LATEST)),
        ),
    ),
)
