"""What stands in addresses and headers, parsed and held against the limits.

Owns the rules of season ids, player ids, `limit`, `radius`, `window` and the API key. Each refusal names the
value, the limit and the setting. Never reads a board.
"""

import hmac
import re

from server.core.board_name import parse_board
from server.core.refusals import Refusal, shown
from server.core.results import player_id_from_text
from server.core.season import MAX_SEASON_ID, Season
from server.errors import RankcastError
from server.live.mirror import Mirror
from server.live.tokens import Tokens, bearer
from server.settings import Settings, variable
from server.web.operation import Parameter
from server.web.state import Request

_NATURAL = re.compile(r"0|[1-9][0-9]{0,9}")
_DEFAULT_LIMIT, _DEFAULT_RADIUS = 100, 5

SEASON = Parameter("id", "path", "the season's id", {"type": "integer", "minimum": 1}, 1)
PLAYER = Parameter(
    "playerId",
    "path",
    "a signed 64-bit integer in canonical decimal: no leading zeros, no plus sign",
    {"type": "string", "pattern": "^(0|-?[1-9][0-9]{0,18})$"},
    "42",
)
LIMIT = Parameter(
    "limit",
    "query",
    f"how many rows, {_DEFAULT_LIMIT} by default, at most {variable('max_limit')}",
    {"type": "integer", "minimum": 1, "default": _DEFAULT_LIMIT},
    10,
)
RADIUS = Parameter(
    "radius",
    "query",
    f"how many rows above and below, {_DEFAULT_RADIUS} by default, at most {variable('max_radius')}",
    {"type": "integer", "minimum": 0, "default": _DEFAULT_RADIUS},
    2,
)
IF_NONE_MATCH = Parameter(
    "If-None-Match",
    "header",
    "the ETag of an answer that the client has",
    {"type": "string"},
    '"5f0c6e1d2a3b4c5d-7"',
)


def natural(name: str, text: str) -> int:
    """A natural number in canonical decimal, or 400 `bad_request`."""
    if not _NATURAL.fullmatch(text):
        raise RankcastError(
            "bad_request", f"{name} is {shown(text)}; it has to be a whole number of at most 10 digits"
        )
    return int(text)


def limit(request: Request, settings: Settings) -> int:
    """How many rows of the top are asked for."""
    default = str(min(_DEFAULT_LIMIT, settings.max_limit))
    value = natural("limit", request.query_params.get("limit", default))
    if value < 1:
        raise RankcastError("bad_request", f"limit is {value}; it starts at 1")
    if value > settings.max_limit:
        raise RankcastError(
            "limit_too_big",
            f"limit is {value}; at most {settings.max_limit} are served ({variable('max_limit')})",
        )
    return value


def radius(request: Request, settings: Settings) -> int:
    """How many neighbours to each side are asked for."""
    default = str(min(_DEFAULT_RADIUS, settings.max_radius))
    value = natural("radius", request.query_params.get("radius", default))
    if value > settings.max_radius:
        raise RankcastError(
            "radius_too_big",
            f"radius is {value}; at most {settings.max_radius} are served ({variable('max_radius')})",
        )
    return value


def player(request: Request) -> int:
    """The player of the address, or 400 `bad_player`."""
    found = player_id_from_text(request.path_params["playerId"])
    if isinstance(found, Refusal):
        raise RankcastError("bad_player", found.reason)
    return found


async def season(request: Request) -> Season:
    """The season of the address, or 404 `unknown_season`."""
    return await season_of(request, request.path_params["id"])


async def season_of(request: Request, text: str) -> Season:
    """The season of this id, or 404 `unknown_season`."""
    if _NATURAL.fullmatch(text) and 1 <= int(text) <= MAX_SEASON_ID:
        found = await request.state["web"].catalog.get(int(text))
        if found is not None:
            return found
    raise RankcastError(
        "unknown_season", f"There is no season {shown(text)}; GET /seasons lists those there are"
    )


async def board(request: Request) -> str:
    """The name of the board that season and `window` say; 404 where there is none, 401 without a token."""
    require_token(request)
    name = (await season(request)).board
    if "window" in request.query_params:
        name += f":{request.query_params['window']}"
    parsed = parse_board(name)
    if isinstance(parsed, Refusal):
        raise RankcastError("unknown_board", parsed.reason)
    return str(parsed)


async def mirror(request: Request) -> Mirror:
    """The mirror of the address's board, once it has its picture."""
    return await request.state["web"].mirrors.open(await board(request))


def require_token(request: Request) -> None:
    """Where viewers need tokens, let the request pass only with a valid one."""
    secret = request.state["process"].settings.token_secret
    if secret is not None:
        Tokens(secret.get_secret_value()).expiry(bearer(request.headers.get("authorization")) or "")


def require_key(request: Request) -> None:
    """Let the request pass only with the API key as its bearer token (401 `unauthorized`)."""
    key = request.state["process"].settings.api_key
    if key is None:
        raise RankcastError(
            "permission_denied", f"This server takes no writes: it has no API key ({variable('api_key')})"
        )
    given = bearer(request.headers.get("authorization")) or ""
    if not hmac.compare_digest(given.encode("utf-8"), key.get_secret_value().encode("utf-8")):
        raise RankcastError("unauthorized", "Send the header Authorization: Bearer <the server's API key>")


async def body(request: Request, settings: Settings) -> bytes:
    """The whole body, refused (413 `body_too_big`) as soon as it is known to be too big."""
    most = settings.max_body_bytes
    declared = request.headers.get("content-length", "0")
    size = int(declared) if declared.isdecimal() else 0
    chunks: list[bytes] = []
    read = 0
    if size <= most:
        async for chunk in request.stream():
            chunks.append(chunk)
            read += len(chunk)
            if read > most:
                break
    if max(size, read) > most:
        raise RankcastError(
            "body_too_big",
            f"The body has {'at least ' if size <= most else ''}{max(size, read)} bytes; "
            f"at most {most} are taken ({variable('max_body_bytes')})",
        )
    return b"".join(chunks)
