"""A board by server-sent events: the frames of the socket for whoever cannot open one."""

from starlette.responses import Response

from server.live import sse
from server.web import params
from server.web.operation import Answer, Content, Operation, Parameter
from server.web.state import Request

_VIEW = Parameter(
    "view",
    "query",
    "what to follow, top by default",
    {"type": "string", "enum": ["top", "around", "rankups"], "default": "top"},
    "top",
)
_PLAYER = Parameter(
    "player", "query", "whose neighbours, with view=around", {**params.PLAYER.schema}, params.PLAYER.example
)
_HAVE = Parameter(
    "have",
    "query",
    "the position to go on from, epoch-version; Last-Event-ID does the same",
    {"type": "string"},
    "5f0c6e1d2a3b4c5d-7",
)
_EXAMPLE = """event: snapshot
id: 5f0c6e1d2a3b4c5d-7
data: {"type":"snapshot","topic":"s1/top/10","epoch":"5f0c6e1d2a3b4c5d","version":7,"total":1,…}

"""


async def follow(request: Request) -> Response:
    """`GET …/leaderboard/stream`."""
    board = await params.board(request)
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    return await sse.stream(request, request.state["web"].hub, board)


OPERATIONS = (
    Operation(
        "GET",
        "/seasons/{id}/leaderboard/stream",
        follow,
        "stream",
        "leaderboard",
        "Follow a board by server-sent events",
        "The same frames as on the WebSocket, as `data`; `event` is their type, `id` epoch-version.",
        (params.SEASON, _VIEW, params.LIMIT, _PLAYER, params.RADIUS, _HAVE),
        answers=(Answer(200, "frames, until one side leaves", Content(None, _EXAMPLE, "text/event-stream")),),
        problems=(
            "bad_request",
            "bad_token",
            "token_expired",
            "bad_player",
            "limit_too_big",
            "radius_too_big",
            "unknown_view",
            "unknown_season",
            "unknown_board",
            "too_many_connections",
            "not_ready",
        ),
    ),
)
