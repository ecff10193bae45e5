"""How a board gets on: what a page shows beside the rows."""

import msgspec
from starlette.responses import Response

from server.web import params
from server.web.operation import Answer, Content, Operation
from server.web.shapes import Status
from server.web.state import Request

SOONEST_MS = 2_000
MS_A_VIEWER = 5  # so that all viewers of a process together ask at most 200 times a second


async def status(request: Request) -> Response:
    """`GET …/leaderboard/status`."""
    web = request.state["web"]
    mirror = await params.mirror(request)
    reading = await web.pulse.of(mirror.season.season_id)
    refresh_ms = max(SOONEST_MS, MS_A_VIEWER * len(web.hub.viewers))
    told = Status(mirror.epoch, mirror.version, mirror.total, *reading, refresh_ms)
    return Response(
        msgspec.json.encode(told), headers={"cache-control": "no-store"}, media_type="application/json"
    )


OPERATIONS = (
    Operation(
        "GET",
        "/seasons/{id}/leaderboard/status",
        status,
        "status",
        "leaderboard",
        "How a board gets on",
        "Results a second and lag are looked up at most once a second, and only while somebody asks.",
        (params.SEASON,),
        answers=(
            Answer(200, "as of now", Content(Status, Status("5f0c6e1d2a3b4c5d", 7, 1000, 1480.5, 12, 2000))),
        ),
        problems=(
            "bad_token",
            "token_expired",
            "unknown_season",
            "unknown_board",
            "not_ready",
        ),
    ),
)
