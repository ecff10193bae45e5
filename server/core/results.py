"""A match result: from a Kafka record or an HTTP item to a `Result`, or to the reason why it does not count.

Owns: both record shapes, every rule on a record, the order in which rules are asked, and the canonical bytes.
Never does: look a season up, read a clock, or raise for any input: what is not taken is a `Refusal`.
Neighbours: `feed` parses with it for Redis and PostgreSQL, so that both refuse the same; `web` on the way in.

The usual shapes take a fast path; what that does not take goes to `exact_json`, which is slow and knows the
reason. Whatever the fast path takes, the exact one takes with the same outcome: a property test holds that.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import orjson

from server.core.exact_json import Fields, load_exact
from server.core.instants import instant_text, parse_instant, parse_usual_instant
from server.core.refusals import REFUSALS, Refusal, shown
from server.core.season import MAX_SEASON_ID, Season

__all__ = [
    "MAX_VALUE_BYTES",
    "REFUSALS",
    "RawResult",
    "Refusal",
    "Result",
    "check",
    "parse_fields",
    "parse_record",
    "parse_value",
    "player_id_from_text",
    "result_value",
]

MAX_VALUE_BYTES = 16_384
"""Longest record value that is read (usual: 140); no setting, so that every process refuses the same."""

MAX_PLAYER_ID = 2**63 - 1
MIN_PLAYER_ID = -(2**63)
_MAX_POINTS = 2**31 - 1  # of any season

_SNAKE = ("match_id", "player_id", "season_id", "points", "achieved_at")
_JAVA = ("matchId", "playerId", "seasonId", "points", "secondsSinceSeasonStart")
_ONLY_SNAKE = frozenset(_SNAKE) - {"points"}
_ONLY_JAVA = frozenset(_JAVA) - {"points"}

_is_match_id = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII).fullmatch
_is_decimal = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII).fullmatch


@dataclass(slots=True)
class RawResult:
    """A result before its season is asked: `time` in microseconds of the epoch, or seconds `since_start`."""

    match_id: str
    player_id: int
    season_id: int
    points: int
    time: int
    since_start: bool


@dataclass(slots=True)
class Result:
    """A result that counts: `match_id` of 36 lower-case characters, `achieved_us` since the epoch."""

    match_id: str
    player_id: int
    season_id: int
    points: int
    achieved_us: int


def parse_value(value: bytes | None) -> RawResult | Refusal:
    """Return the result in a record's value, all rules asked that need no season, or why it is refused."""
    if not value:
        if value is None:
            return Refusal("no_value", "the record has no value; send a result")
        return Refusal("empty_value", "the record's value has 0 bytes; send a result")
    raw = _parse_usual(value)
    return _parse_exact(value) if raw is None else raw


def _parse_usual(value: bytes) -> RawResult | None:
    """Return the result of a flat object in either shape without oddities; None leaves it to the exact path.

    Without a backslash every quote begins or ends a name or a text: a field given twice shows in the count.
    """
    if b"\\" in value or len(value) > MAX_VALUE_BYTES:
        return None
    try:
        fields = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    if type(fields) is not dict or value.count(b'"') != _quotes(fields):
        return None
    since_start = "match_id" not in fields
    try:
        if since_start:
            match_id, player_id, season_id = fields["matchId"], fields["playerId"], fields["seasonId"]
            points, time = fields["points"], fields["secondsSinceSeasonStart"]
            if type(time) is not int or not MIN_PLAYER_ID <= time <= MAX_PLAYER_ID:
                return None
        else:
            match_id, player_id, season_id = fields["match_id"], fields["player_id"], fields["season_id"]
            points, time = fields["points"], fields["achieved_at"]
            if type(time) is not str or (time := parse_usual_instant(time)) is None:
                return None
    except KeyError:
        return None
    if (
        type(match_id) is str
        and type(player_id) is int
        and type(season_id) is int
        and type(points) is int
        and _is_match_id(match_id := match_id.lower())
        and MIN_PLAYER_ID <= player_id <= MAX_PLAYER_ID
        and 1 <= season_id <= MAX_SEASON_ID
        and 0 <= points <= _MAX_POINTS
        and (len(fields) == 5 or (_ONLY_SNAKE if since_start else _ONLY_JAVA).isdisjoint(fields))
    ):
        return RawResult(match_id, player_id, season_id, points, time, since_start)
    return None


def _quotes(fields: dict[str, object]) -> int:
    """Return how many quotes a flat object of these fields has, each there once; -1 for one not flat."""
    if len(fields) == 5:
        return 14 if "match_id" in fields else 12  # what is not flat shows in the fields' types
    texts = 0
    for value in fields.values():
        kind = type(value)
        if kind is str:
            texts += 1
        elif kind is list or kind is dict:  # it may nest too deep
            return -1
    return 2 * (len(fields) + texts)


def _parse_exact(value: bytes) -> RawResult | Refusal:
    if len(value) > MAX_VALUE_BYTES:
        return Refusal(
            "value_too_long", f"the value has {len(value)} bytes; at most {MAX_VALUE_BYTES} are read"
        )
    fields = load_exact(value)
    return fields if isinstance(fields, Refusal) else parse_fields(fields)


def parse_fields(fields: object, *, text_ids: bool = False) -> RawResult | Refusal:
    """Return the result in a JSON value that `load_exact` gave, or why it is refused.

    `text_ids` takes player and season ids as canonical decimal text, too: HTTP does, Kafka does not.
    """
    if not isinstance(fields, Fields):
        return Refusal("not_an_object", f"{shown(fields)} is no JSON object; send one result as an object")
    if fields.twice is not None:
        return Refusal("duplicate_field", f"the field {shown(fields.twice)} stands there twice; send it once")
    names = _shape(fields)
    if isinstance(names, Refusal):
        return names
    values = (
        _match_id(fields[names[0]]),
        _player_id(fields[names[1]], text_ids),
        _season_id(fields[names[2]], text_ids),
        _points(fields[names[3]]),
        _seconds(fields[names[4]]) if names is _JAVA else parse_instant(fields[names[4]]),
    )
    for value in values:
        if isinstance(value, Refusal):
            return value
    return RawResult(*cast(tuple[str, int, int, int, int], values), names is _JAVA)


def _shape(fields: Fields) -> tuple[str, ...] | Refusal:
    """Return the names of the record's shape, all of them there, or why it has none."""
    snake, java = _ONLY_SNAKE.intersection(fields), _ONLY_JAVA.intersection(fields)
    if snake and java:
        return Refusal(
            "mixed_shapes", f"{min(snake)} and {min(java)} are of different shapes; send {', '.join(_SNAKE)}"
        )
    names = _JAVA if java else _SNAKE
    missing = [name for name in names if name not in fields]
    return Refusal("missing_field", f"the record lacks {', '.join(missing)}") if missing else names


def _match_id(value: object) -> str | Refusal:
    if isinstance(value, str) and _is_match_id(lowered := value.lower()):
        return lowered
    return Refusal("bad_match_id", f"match id {shown(value)} is no UUID of 36 characters with hyphens")


def _player_id(value: object, text_ids: bool) -> int | Refusal:
    if text_ids and isinstance(value, str):
        return player_id_from_text(value)
    if type(value) is int and MIN_PLAYER_ID <= value <= MAX_PLAYER_ID:
        return value
    return Refusal(
        "bad_player_id", f"player id {shown(value)} is no integer from {MIN_PLAYER_ID} to {MAX_PLAYER_ID}"
    )


def player_id_from_text(text: str) -> int | Refusal:
    """Return the player id of a text in canonical decimal (`007`, `+7` and `-0` are none), or why not."""
    if _is_decimal(text) and MIN_PLAYER_ID <= (player_id := int(text)) <= MAX_PLAYER_ID:
        return player_id
    return Refusal(
        "bad_player_id",
        f"player id {shown(text)} is no canonical decimal from {MIN_PLAYER_ID} to {MAX_PLAYER_ID}; "
        "write it without plus, leading zeros or spaces",
    )


def _season_id(value: object, text_ids: bool) -> int | Refusal:
    if text_ids and isinstance(value, str) and _is_decimal(value):
        value = int(value)
    if type(value) is int and 1 <= value <= MAX_SEASON_ID:
        return value
    return Refusal("bad_season_id", f"season id {shown(value)} is no integer from 1 to {MAX_SEASON_ID}")


def _points(value: object) -> int | Refusal:
    if type(value) is not int:
        return Refusal(
            "bad_points", f"points {shown(value)} are no integer; send a JSON number of digits alone"
        )
    if value < 0:
        return Refusal("points_negative", f"points {shown(value)} are below 0")
    if value > _MAX_POINTS:
        return Refusal(
            "points_too_high", f"points {shown(value)} are above {_MAX_POINTS}, the most of any season"
        )
    return value


def _seconds(value: object) -> int | Refusal:
    if type(value) is int and MIN_PLAYER_ID <= value <= MAX_PLAYER_ID:
        return value
    return Refusal(
        "bad_seconds", f"seconds {shown(value)} since the season's start are no integer of 64 bits"
    )


def check(
    raw: RawResult, season: Season | None, key: bytes | None, timestamp_ms: int, check_key: bool
) -> Result | Refusal:
    """Return the result if it counts in its season (None: there is none), else why not.

    `key` is the record's key, asked only with `check_key`; `timestamp_ms` is its Kafka timestamp.
    """
    if season is None:
        return Refusal("unknown_season", f"there is no season {raw.season_id}; create it first")
    if check_key and key != b"%d" % raw.player_id:
        return Refusal("wrong_key", f"the key {shown(key)} is not the player id {raw.player_id} in decimal")
    refusal = season.refuse_timestamp(timestamp_ms)
    if refusal is not None:
        return refusal
    points, achieved_us = raw.points, raw.time
    if raw.since_start:
        achieved_us = season.starts_us + achieved_us * 1_000_000
    if points <= season.codec.max_points and season.starts_us <= achieved_us < season.ends_us:
        return Result(raw.match_id, raw.player_id, raw.season_id, points, achieved_us)
    return _misfit(raw, season, achieved_us)


def _misfit(raw: RawResult, season: Season, achieved_us: int) -> Refusal:
    """Say which of the season's bounds the result is past."""
    if raw.points > season.codec.max_points:
        most = season.codec.max_points
        return Refusal(
            "points_too_high", f"{raw.points} points are above {most}, season {raw.season_id}'s maximum"
        )
    achieved = (
        f"{raw.time} seconds after the start" if raw.since_start else f"{shown(achieved_us)} microseconds"
    )
    if achieved_us < season.starts_us:
        starts = instant_text(season.starts_us)
        return Refusal(
            "before_season", f"achieved at {achieved}, before season {raw.season_id} began at {starts}"
        )
    ends = instant_text(season.ends_us)
    return Refusal(
        "after_season", f"achieved at {achieved}, not before season {raw.season_id}'s end at {ends}"
    )


def parse_record(
    value: bytes | None,
    key: bytes | None,
    timestamp_ms: int,
    seasons: Callable[[int], Season | None],
    check_key: bool = True,
) -> Result | Refusal:
    """Return the result of a whole Kafka record if it counts, else why not; `seasons` finds one by its id."""
    raw = parse_value(value)
    if isinstance(raw, Refusal):
        return raw
    return check(raw, seasons(raw.season_id), key, timestamp_ms, check_key)


def result_value(result: Result) -> bytes:
    """Return the canonical bytes of a record's value, which parse to this very result."""
    return orjson.dumps(
        {
            "match_id": result.match_id,
            "player_id": result.player_id,
            "season_id": result.season_id,
            "points": result.points,
            "achieved_at": instant_text(result.achieved_us),
        }
    )
