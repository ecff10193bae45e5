"""A topic: one view of one board, and its name, which is the same for all who ask for the same view.

Owns: the views, their names (`s12/top/100`, `s12/around/42/5`, `s12/rankups`) and their parameters' rules.
Never does: know which boards there are, or who watches.
Neighbours: `commands` reads topics out of client frames, `live/sse.py` out of an address.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard

from server.core.board_name import parse_board
from server.core.refusals import Refusal, shown
from server.core.results import player_id_from_text

DEFAULT_LIMIT = 100
DEFAULT_RADIUS = 5


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one view may ask for."""

    max_limit: int
    max_radius: int


@dataclass(frozen=True, slots=True)
class Top:
    """The rows from rank 1 to `limit`."""

    limit: int

    def __str__(self) -> str:
        return f"top/{self.limit}"


@dataclass(frozen=True, slots=True)
class Around:
    """The rows around a player, `radius` up and down."""

    player: int
    radius: int

    def __str__(self) -> str:
        return f"around/{self.player}/{self.radius}"


@dataclass(frozen=True, slots=True)
class RankUps:
    """Who comes into the best 100."""

    def __str__(self) -> str:
        return "rankups"


View = Top | Around | RankUps


@dataclass(frozen=True, slots=True)
class Topic:
    """One view of one board (`s12`)."""

    board: str
    view: View

    def __str__(self) -> str:
        return f"{self.board}/{self.view}"


def parse_topic(fields: Mapping[str, object], limits: Limits) -> Topic | Refusal:
    """Return the topic that `board`, `view` and the view's own fields name, or why there is none.

    Fields of other views are ignored. The codes are those of requests (`server/errors.py`).
    """
    board = parse_board(fields.get("board"))
    if isinstance(board, Refusal):
        return board
    view = parse_view(fields, limits)
    return view if isinstance(view, Refusal) else Topic(str(board), view)


def parse_view(fields: Mapping[str, object], limits: Limits) -> View | Refusal:
    """Return the view that the fields name, or why there is none."""
    match fields.get("view"):
        case "top":
            limit = fields.get("limit", DEFAULT_LIMIT)
            return Top(limit) if _within(limit, 1, limits.max_limit) else _refuse_limit(limit, limits)
        case "around":
            return _around(fields, limits)
        case "rankups":
            return RankUps()
        case other:
            return Refusal("unknown_view", f"view is {shown(other)}; there are top, around and rankups")


def _around(fields: Mapping[str, object], limits: Limits) -> Around | Refusal:
    text, radius = fields.get("player"), fields.get("radius", DEFAULT_RADIUS)
    if not isinstance(text, str):
        return Refusal("bad_player", f'player is {shown(text)}; send the id as text, as in "player":"42"')
    player = player_id_from_text(text)
    if isinstance(player, Refusal):
        return Refusal("bad_player", player.reason)
    if not _within(radius, 0, limits.max_radius):
        return _refuse_radius(radius, limits)
    return Around(player, radius)


def _within(value: object, least: int, most: int) -> TypeGuard[int]:
    return type(value) is int and least <= value <= most


def _refuse_limit(limit: object, limits: Limits) -> Refusal:
    if type(limit) is int and limit > limits.max_limit:
        most = f"at most {limits.max_limit} rows are served (RANKCAST_MAX_LIMIT)"
        return Refusal("limit_too_big", f"limit is {shown(limit)}; {most}")
    return Refusal(
        "bad_request", f"limit is {shown(limit)}; it has to be an integer from 1 to {limits.max_limit}"
    )


def _refuse_radius(radius: object, limits: Limits) -> Refusal:
    if type(radius) is int and radius > limits.max_radius:
        most = f"at most {limits.max_radius} rows to each side are served (RANKCAST_MAX_RADIUS)"
        return Refusal("radius_too_big", f"radius is {shown(radius)}; {most}")
    return Refusal(
        "bad_request", f"radius is {shown(radius)}; it has to be an integer from 0 to {limits.max_radius}"
    )
