"""Reads of a board: its top, one player, the rows around one. All from the mirror, none touches Redis.

Neighbours: `params` says what is asked for, `shapes` what is sent, `conditional` whether the client has it.
"""

import msgspec
from starlette.responses import Response

from server.core.refusals import shown
from server.errors import RankcastError
from server.live.mirror import Mirror
from server.web import conditional, params
from server.web.operation import Answer, Content, Operation
from server.web.shapes import Entry, Neighbour, PlayerEntry, Top, player_on_wire
from server.web.state import Request

_BOARD_PROBLEMS = (
    "bad_request",
    "bad_token",
    "token_expired",
    "unknown_season",
    "unknown_board",
    "not_ready",
)
_SAME = Answer(304, "the client has it (If-None-Match)")


async def top(request: Request) -> Response:
    """`GET …/leaderboard/top?limit=100`."""
    limit = params.limit(request, request.state["process"].settings)
    mirror = await params.mirror(request)
    rows = mirror.rows(1, limit)
    entries = [
        Entry(rank, player_on_wire(row.player), row.points, row.achieved_ms)
        for rank, row in enumerate(rows, 1)
    ]
    return _answer(request, mirror, Top(mirror.epoch, mirror.version, mirror.total, entries))


async def player(request: Request) -> Response:
    """`GET …/leaderboard/players/{playerId}`."""
    wanted = params.player(request)
    mirror = await params.mirror(request)
    rank = mirror.index.rank_of(wanted)
    if rank is None:
        raise RankcastError("unranked", f"Player {shown(wanted)} is not ranked on {mirror.board}")
    [row] = mirror.rows(rank, 1)
    total = mirror.total
    percentile = round(100 * (total - rank + 1) / total, 6)
    found = PlayerEntry(rank, player_on_wire(wanted), row.points, row.achieved_ms, total, percentile)
    return _answer(request, mirror, found)


async def around(request: Request) -> Response:
    """`GET …/leaderboard/players/{playerId}/around?radius=5`."""
    wanted = params.player(request)
    radius = params.radius(request, request.state["process"].settings)
    mirror = await params.mirror(request)
    rank = mirror.index.rank_of(wanted)
    first = max(1, (rank or 1) - radius)
    rows = mirror.rows(first, rank + radius - first + 1) if rank is not None else []
    found = [Neighbour(at, player_on_wire(row.player), row.points) for at, row in enumerate(rows, first)]
    return _answer(request, mirror, found)


def _answer(request: Request, mirror: Mirror, body: object) -> Response:
    tag = f"{mirror.epoch or 'none'}-{mirror.version}"
    return conditional.answer(request, msgspec.json.encode(body), tag)


_ROW = Entry(1, 42, 1518, 1791828191000)
OPERATIONS = (
    Operation(
        "GET",
        "/seasons/{id}/leaderboard/top",
        top,
        "top",
        "leaderboard",
        "The best of a season",
        "The order is points, then who got there first, then the id's text, descending.",
        (params.SEASON, params.LIMIT, params.IF_NONE_MATCH),
        answers=(
            Answer(
                200,
                "the rows in order",
                Content(Top, Top("5f0c6e1d2a3b4c5d", 7, 1, [_ROW])),
                etag=True,
            ),
            _SAME,
        ),
        problems=(*_BOARD_PROBLEMS, "limit_too_big"),
    ),
    Operation(
        "GET",
        "/seasons/{id}/leaderboard/players/{playerId}",
        player,
        "player",
        "leaderboard",
        "One player's rank",
        parameters=(params.SEASON, params.PLAYER, params.IF_NONE_MATCH),
        answers=(
            Answer(
                200,
                "the player's row",
                Content(PlayerEntry, PlayerEntry(1, 42, 1518, 1791828191000, 1000, 100.0)),
                etag=True,
            ),
            _SAME,
        ),
        problems=(*_BOARD_PROBLEMS, "bad_player", "unranked"),
    ),
    Operation(
        "GET",
        "/seasons/{id}/leaderboard/players/{playerId}/around",
        around,
        "around",
        "leaderboard",
        "The rows around a player",
        "A bare list, empty when the player is unranked.",
        (params.SEASON, params.PLAYER, params.RADIUS, params.IF_NONE_MATCH),
        answers=(
            Answer(
                200,
                "the rows in order",
                Content(list[Neighbour], [Neighbour(1, 7, 1600), Neighbour(2, 42, 1518)]),
                etag=True,
            ),
            _SAME,
        ),
        problems=(*_BOARD_PROBLEMS, "bad_player", "radius_too_big"),
    ),
)
