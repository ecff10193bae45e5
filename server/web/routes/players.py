"""Players' names: shown beside ids, good for finding players, and without meaning to the order."""

import msgspec
from starlette.responses import Response

from server.core.names import MAX_NAME_LENGTH, clean_name
from server.core.refusals import Refusal
from server.core.results import player_id_from_text
from server.errors import RankcastError
from server.live.mirror import Mirror
from server.settings import Settings, variable
from server.web import assets, conditional, params
from server.web.naming import parse_names, save_names
from server.web.operation import Answer, Content, Operation, Parameter
from server.web.shapes import FoundPlayer, FoundPlayers, Saved, player_on_wire
from server.web.state import Request

_DEFAULT_LIMIT = 10
QUERY = Parameter(
    "query",
    "query",
    "the beginning of a name, without regard to case and accents, or a whole player id",
    {"type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH},
    "ada",
)
SEASON = Parameter(
    "season",
    "query",
    "the season whose ranks and points are told; none without it",
    {"type": "integer", "minimum": 1},
    1,
)
LIMIT = Parameter(
    "limit",
    "query",
    f"how many players, {_DEFAULT_LIMIT} by default, at most {variable('max_found')}",
    {"type": "integer", "minimum": 1, "default": _DEFAULT_LIMIT},
    10,
)


async def find(request: Request) -> Response:
    """`GET /players?query=`."""
    params.require_token(request)
    web, settings = request.state["web"], request.state["process"].settings
    beginning = clean_name(request.query_params.get("query", ""))
    if isinstance(beginning, Refusal):
        raise RankcastError("bad_request", f"query: {beginning.reason}")
    limit = _limit(request, settings)
    mirror = await _mirror(request)
    found: dict[int, str | None] = dict(await web.search.find(beginning, limit))
    by_id = player_id_from_text(beginning)
    if isinstance(by_id, int):
        names = await web.archive.names([by_id])
        found = {by_id: names.get(by_id), **found}
    players = [_found(player, name, mirror) for player, name in list(found.items())[:limit]]
    text = msgspec.json.encode(FoundPlayers(players))
    return conditional.answer(request, text, assets.tag_of(text))


def _limit(request: Request, settings: Settings) -> int:
    most = settings.max_found
    value = params.natural("limit", request.query_params.get("limit", str(min(_DEFAULT_LIMIT, most))))
    if value < 1:
        raise RankcastError("bad_request", f"limit is {value}; it starts at 1")
    if value > most:
        raise RankcastError(
            "limit_too_big", f"limit is {value}; at most {most} players are told ({variable('max_found')})"
        )
    return value


async def _mirror(request: Request) -> Mirror | None:
    """The board of the query's season; None where none is named."""
    text = request.query_params.get("season")
    if text is None:
        return None
    season = await params.season_of(request, text)
    return await request.state["web"].mirrors.open(season.board)


def _found(player: int, name: str | None, mirror: Mirror | None) -> FoundPlayer:
    rank = None if mirror is None else mirror.index.rank_of(player)
    if mirror is None or rank is None:
        return FoundPlayer(player_on_wire(player), name)
    [row] = mirror.rows(rank, 1)
    return FoundPlayer(player_on_wire(player), name, rank, row.points)


async def put(request: Request) -> Response:
    """`PUT /players`."""
    params.require_key(request)
    body = await params.body(request, request.state["process"].settings)
    names = parse_names(body)
    web = request.state["web"]
    await save_names(web.archive, web.redis, names)
    return Response(msgspec.json.encode(Saved(len(names))), media_type="application/json")


_FOUND = FoundPlayers([FoundPlayer(42, "Ada", 1, 1518), FoundPlayer("9223372036854775807", "Adam")])
OPERATIONS = (
    Operation(
        "GET",
        "/players",
        find,
        "findPlayers",
        "players",
        "Find players",
        "By the beginning of their names, in the names' order; a player whose id is the query comes first, "
        "known or not, since any id may be followed.",
        (QUERY, SEASON, LIMIT, params.IF_NONE_MATCH),
        answers=(
            Answer(200, "those found, perhaps none", Content(FoundPlayers, _FOUND), etag=True),
            Answer(304, "the client has it (If-None-Match)"),
        ),
        problems=(
            "bad_request",
            "bad_token",
            "token_expired",
            "limit_too_big",
            "unknown_season",
            "too_many_requests",
            "not_ready",
        ),
    ),
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
