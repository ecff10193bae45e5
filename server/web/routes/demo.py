"""The demo's clock and buttons: there only where a process plays the demo.

Owns who may press them: whoever has the API key, and the pages that this machine's own browser got from this
server (`local.py`), so that `make run` needs no key. Never plays: `demo/player.py` does.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import msgspec
import orjson
from starlette.responses import Response

from server.core.refusals import shown
from server.demo.history import Match, load_flags, load_names
from server.demo.player import Demo
from server.demo.tempo import SPEEDS
from server.errors import RankcastError
from server.web import assets, conditional, params
from server.web.local import is_on_this_machine, is_own_page
from server.web.operation import Answer, Content, Operation
from server.web.shapes import DemoMatch, DemoOrder, DemoState, DemoTeam
from server.web.state import Request

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


async def get(request: Request) -> Response:
    """`GET /demo`."""
    return _told(_demo(request), controls=is_on_this_machine(request))


async def post(request: Request) -> Response:
    """`POST /demo`."""
    demo = _demo(request)
    if not is_own_page(request):
        params.require_key(request)
    order = _order(await params.body(request, request.state["process"].settings))
    if order.speed is not msgspec.UNSET:
        demo.set_speed(order.speed)
    if order.paused is not msgspec.UNSET:
        demo.pause(order.paused)
    if order.restart:
        demo.restart()
    return _told(demo, controls=True)


async def flags(request: Request) -> Response:
    """`GET /demo/flags`."""
    _demo(request)
    body, tag = _flags()
    return conditional.answer(request, body, tag)


def _demo(request: Request) -> Demo:
    demo = request.state["web"].demo
    if demo is None or demo.board is None:
        raise RankcastError("not_found", "The demo is not played here: season 1 is another one")
    return demo


def _order(text: bytes) -> DemoOrder:
    try:
        return msgspec.json.decode(text, type=DemoOrder)
    except msgspec.DecodeError as error:
        raise RankcastError("bad_request", f"{shown(text.decode(errors='replace'))}: {error}") from error


def _told(demo: Demo, *, controls: bool) -> Response:
    at = demo.standing()
    state = DemoState(
        at.phase,
        demo.board or "",
        at.speed,
        list(SPEEDS),
        controls,
        _day(at.day_us),
        _day(at.first_us),
        _day(at.last_us),
        at.match_day,
        at.match_days,
        at.results,
        at.of,
        _match(at.match),
    )
    headers = {"cache-control": "no-store"}
    return Response(msgspec.json.encode(state), headers=headers, media_type="application/json")


def _day(us: int | None) -> str | None:
    return None if us is None else (_EPOCH + timedelta(microseconds=us)).date().isoformat()


def _match(match: Match | None) -> DemoMatch | None:
    if match is None:
        return None
    names = _names()
    return DemoMatch(
        DemoTeam(match.home, names[match.home], match.home_goals),
        DemoTeam(match.away, names[match.away], match.away_goals),
    )


_names: Callable[[], dict[int, str]] = lru_cache(maxsize=1)(load_names)


@lru_cache(maxsize=1)
def _flags() -> tuple[bytes, str]:
    body = orjson.dumps({str(player): flag for player, flag in load_flags().items()})
    return body, assets.tag_of(body)


_STATE = DemoState(
    "playing",
    "s1",
    10,
    list(SPEEDS),
    True,
    "1934-06-10",
    "1872-11-30",
    "2026-07-19",
    1543,
    16491,
    3990,
    99040,
    DemoMatch(DemoTeam(26, "Italy", 2), DemoTeam(11, "Czechoslovakia", 1)),
)
OPERATIONS = (
    Operation(
        "GET",
        "/demo",
        get,
        "demo",
        "demo",
        "Where the demo is",
        "Only where a process plays the demo (`RANKCAST_DEMO`).",
        answers=(Answer(200, "as of now", Content(DemoState, _STATE)),),
        problems=("not_found",),
    ),
    Operation(
        "POST",
        "/demo",
        post,
        "orderDemo",
        "demo",
        "Pause the demo, change its speed, begin anew",
        "The live board of this machine's own browser needs no key for it.",
        body=Content(DemoOrder, DemoOrder(speed=25)),
        answers=(Answer(200, "as of now", Content(DemoState, _STATE)),),
        problems=("bad_request", "unauthorized", "permission_denied", "not_found", "body_too_big"),
        needs_key=True,
    ),
    Operation(
        "GET",
        "/demo/flags",
        flags,
        "demoFlags",
        "demo",
        "The flags of the demo's teams",
        "Emoji by player id, of the teams that have one.",
        answers=(
            Answer(200, "all flags", Content(dict[str, str], {"34": "\U0001f1e7\U0001f1f7"}), etag=True),
            Answer(304, "the client has it (If-None-Match)"),
        ),
        problems=("not_found",),
    ),
)
