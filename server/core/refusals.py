"""Every reason for which a result, a season, an id or a name is refused: one code word each, in one table.

Owns: the code words: rejected records carry them in a header, metrics in a label, HTTP in `errors`.
Never does: decide; the rules stand in `results`, `season`, `codec`, `names` and `board_name`.
Neighbours: `server/errors.py` holds the code words of requests and close codes of sockets.
"""

from dataclasses import dataclass

REFUSALS: dict[str, str] = {
    # -- the record as text
    "no_value": "The record has no value (a tombstone)",
    "empty_value": "The record's value has no bytes",
    "value_too_long": "The record's value is longer than any result",
    "not_utf8": "The record's value is not UTF-8",
    "byte_order_mark": "The record's value begins with a byte order mark",
    "not_json": "The record's value is not JSON",
    "too_deep": "The record's value is nested deeper than any result",
    "not_an_object": "The record's value is JSON, but no object",
    # -- its fields
    "duplicate_field": "A field stands in the record twice",
    "mixed_shapes": "The record mixes fields of both shapes, snake_case and camelCase",
    "missing_field": "The record lacks a field",
    "bad_match_id": "The match id is not a UUID of 36 characters with hyphens",
    "bad_player_id": "The player id is not a signed 64-bit integer, in canonical decimal where it is text",
    "bad_season_id": "The season id is not an integer from 1 to 2147483647",
    "bad_points": "The points are not an integer",
    "points_negative": "The points are below 0",
    "points_too_high": "The points are above the season's maximum",
    "bad_time": "The time is not an instant as RFC 3339 writes it",
    "no_offset": "The time has no offset from UTC",
    "leap_second": "The time is a leap second, which no season counts",
    "bad_seconds": "The seconds since the season's start are not an integer of 64 bits",
    # -- the record and its season
    "unknown_season": "There is no such season",
    "wrong_season": "The result names another season than the address that it was sent to",
    "wrong_key": "The record's key is not its player id in decimal",
    "no_timestamp": "The record has no Kafka timestamp",
    "too_early": "The record was written before its season counts records",
    "too_late": "The record was written after the end of its season and the grace that follows it",
    "before_season": "The result was achieved before its season",
    "after_season": "The result was achieved after its season",
    # -- a score
    "score_out_of_range": "The score is no integer that the season's bits can hold",
    # -- a season's definition
    "bad_season": "The definition is not a JSON object",
    "unknown_field": "The definition has a field that no season has",
    "bad_name": "The name is not a text",
    "name_empty": "The name has no visible character",
    "name_too_long": "The name is too long",
    "name_control": "The name has a control character",
    "name_surrogate": "The name has half of a surrogate pair",
    "season_empty": "The season ends before it has begun",
    "bad_operator": "The operator is neither best nor sum",
    "bad_bits": "The bits of points and time do not fit into an exact score",
    "bad_duration": "The duration is not a number and a unit",
    "season_too_long": "The season does not fit into its time bits",
    "bad_time_zone": "The time zone is not one of the IANA's",
    "counts_never": "The season stops to count records before it begins to",
    # -- a board
    "unknown_board": "There is no such board",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something is not taken: a code word of `REFUSALS`, a reason with value, limit and remedy."""

    code: str
    reason: str


def shown(value: object) -> str:
    """Return the value as it may stand in a reason: printable ASCII on one line, cut to 60 characters."""
    if isinstance(value, int) and value.bit_length() > 192:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, str | bytes):
        value = value[:60]
    text = ascii(value) if isinstance(value, str | bytes | int | float | None) else _kind(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _kind(value: object) -> str:
    """Name a value that is not shown itself where it may be large."""
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else repr(value)
