"""Which seasons there are, as they were defined."""

import msgspec
from starlette.responses import Response

from server.core.season import Season
from server.web import assets, conditional, params
from server.web.operation import Answer, Content, Operation
from server.web.shapes import SeasonList, SeasonShape
from server.web.state import Request

_EXAMPLE = SeasonShape(
    season_id=1,
    name="International football since 1872",
    starts_at="1872-01-01T00:00:00Z",
    ends_at="2100-01-01T00:00:00Z",
    operator="sum",
    points_bits=21,
    time_bits=32,
    tick="1 day",
    time_zone="UTC",
    counts_from="2026-10-11T18:03:11Z",
    grace="1 hour",
    board="s1",
)
_SAME = Answer(304, "the client has it (If-None-Match)")


async def list_all(request: Request) -> Response:
    """`GET /seasons`, by id."""
    web = request.state["web"]
    seasons = sorted(await web.catalog.all(), key=lambda season: season.season_id)
    demo = web.demo.board if web.demo is not None else None
    return _answer(request, SeasonList([_shape(season) for season in seasons], demo))


async def one(request: Request) -> Response:
    """`GET /seasons/{id}`."""
    return _answer(request, _shape(await params.season(request)))


def _shape(season: Season) -> SeasonShape:
    return msgspec.convert({**season.definition(), "board": season.board}, SeasonShape)


def _answer(request: Request, body: object) -> Response:
    text = msgspec.json.encode(body)
    return conditional.answer(request, text, assets.tag_of(text))


OPERATIONS = (
    Operation(
        "GET",
        "/seasons",
        list_all,
        "seasons",
        "seasons",
        "All seasons",
        answers=(Answer(200, "by id", Content(SeasonList, SeasonList([_EXAMPLE])), etag=True), _SAME),
        problems=("not_ready",),
    ),
    Operation(
        "GET",
        "/seasons/{id}",
        one,
        "season",
        "seasons",
        "One season",
        parameters=(params.SEASON,),
        answers=(Answer(200, "its definition", Content(SeasonShape, _EXAMPLE), etag=True), _SAME),
        problems=("unknown_season", "not_ready"),
    ),
)
