"""Players' names: they are shown beside ids and mean nothing to the order."""

import msgspec
from starlette.responses import Response

from server.web import params
from server.web.naming import parse_names, save_names
from server.web.operation import Answer, Content, Operation
from server.web.shapes import Saved
from server.web.state import Request


async def put(request: Request) -> Response:
    """`PUT /players`."""
    params.require_key(request)
    body = await params.body(request, request.state["process"].settings)
    names = parse_names(body)
    web = request.state["web"]
    await save_names(web.archive, web.redis, names)
    return Response(msgspec.json.encode(Saved(len(names))), media_type="application/json")


OPERATIONS = (
    Operation(
        "PUT",
        "/players",
        put,
        "saveNames",
        "players",
        "Name players",
        "An object of player ids and names; who has a name already gets the new one.",
        body=Content(dict[str, str], {"42": "Ada", "9223372036854775807": "Grace"}),
        answers=(Answer(200, "saved", Content(Saved, Saved(2))),),
        problems=("bad_json", "unauthorized", "permission_denied", "body_too_big", "bad_names", "not_ready"),
        needs_key=True,
    ),
)
