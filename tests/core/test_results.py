"""Results from records: both shapes are taken, everything else refused (cases B3, B4, C4, C5, D11)."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.core import results
from server.core.exact_json import load_exact
from server.core.refusals import REFUSALS, Refusal
from server.core.results import (
    MAX_VALUE_BYTES,
    RawResult,
    Result,
    check,
    parse_fields,
    parse_record,
    parse_value,
    player_id_from_text,
    result_value,
)
from server.core.season import Season

MATCH = "5f0c1b2a-0000-4000-8000-00000000abcd"
USUAL = {
    "match_id": MATCH,
    "player_id": 42,
    "season_id": 12,
    "points": 1518,
    "achieved_at": "2026-10-12T18:03:11.250Z",
}
JAVA = {"matchId": MATCH, "playerId": 42, "seasonId": 12, "points": 1518, "secondsSinceSeasonStart": 64_991}
HUGE = "a number of 5001 digits"
CREATED_US = 1_790_000_000_000_000
NOW_MS = 1_791_000_000_000
SEASON = Season.parse(
    {
        "season_id": 12,
        "name": "Autumn",
        "starts_at": "2026-10-12T00:00:00Z",
        "ends_at": "2026-11-12T00:00:00Z",
        "counts_from": "2026-10-01T00:00:00Z",
    },
    CREATED_US,
)


def value(**changes: object) -> bytes:
    return json.dumps(USUAL | changes).encode()


def code_of(outcome: object) -> str:
    assert isinstance(outcome, Refusal), f"taken: {outcome}"
    assert outcome.code in REFUSALS
    assert outcome.reason.isascii()
    assert 0 < len(outcome.reason) < 400
    return outcome.code


def record(value: bytes, key: bytes = b"42", timestamp_ms: int = NOW_MS) -> Result | Refusal:
    return parse_record(value, key, timestamp_ms, {12: SEASON}.get)


def test_both_shapes_of_one_result_are_the_same_result() -> None:
    usual, java = record(json.dumps(USUAL).encode()), record(json.dumps(JAVA).encode())
    assert usual == Result(MATCH, 42, 12, 1518, 1_791_828_191_250_000)
    assert java == Result(MATCH, 42, 12, 1518, 1_791_828_191_000_000)


def test_the_match_id_is_lower_cased() -> None:
    assert parse_value(value(match_id=MATCH.upper())) == parse_value(value())


def test_unknown_fields_are_ignored_whatever_they_hold() -> None:
    for extra in (
        None,
        1e300,
        "text",
        'a "quote" \\',
        [1, {"points": 3}],
        {"match_id": 1, "a": {"a": []}},
        10**600,
    ):
        assert parse_value(value(extra=extra)) == parse_value(value())
        assert parse_value(json.dumps(JAVA | {"extra": extra}).encode()) == parse_value(
            json.dumps(JAVA).encode()
        )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (None, "no_value"),  # B4
        (b"", "empty_value"),
        (b"\xff\xfe", "not_utf8"),  # B3
        (b'{"a":"\xed\xa0\x80"}', "not_utf8"),
        (b"\xef\xbb\xbf" + value(), "byte_order_mark"),
        (b'{"bad', "not_json"),
        (b" ", "not_json"),
        (value() + b"}", "not_json"),
        (b"{'match_id': 1}", "not_json"),
        (b'{"points": NaN}', "not_json"),  # D11
        (b'{"points": Infinity}', "not_json"),
        (b'{"points": -Infinity}', "not_json"),
        (b'{"a": "tab\there"}', "not_json"),
        (b"x" * 2_000_000, "value_too_long"),
        (b"[" * 8_000, "too_deep"),
        (b'{"a":' * 3_000 + b"1" + b"}" * 3_000, "value_too_long"),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "too_deep"),
        (b"[]", "not_an_object"),
        (b"null", "not_an_object"),
        (b'"text"', "not_an_object"),
        (b"1" * 5_000, "not_an_object"),
        (b"{}", "missing_field"),
        (b'{"points": 1}', "missing_field"),
        (json.dumps({"match_id": MATCH, "player_id": 42}).encode(), "missing_field"),
        (value()[:-1] + b', "points": 1518}', "duplicate_field"),
        (value()[:-1] + b', "extra": 1, "extra": 2}', "duplicate_field"),
        (value()[:-1] + b', "\\u0070oints": 1518}', "duplicate_field"),
        (json.dumps(JAVA | {"achieved_at": USUAL["achieved_at"]}).encode(), "mixed_shapes"),
        (json.dumps(USUAL | {"secondsSinceSeasonStart": 1}).encode(), "mixed_shapes"),
        (json.dumps(USUAL | {"playerId": 42}).encode(), "mixed_shapes"),
    ],
)
def test_a_value_that_is_no_record_is_refused(text: bytes | None, code: str) -> None:
    assert code_of(parse_value(text)) == code


NO_INTEGERS: list[object] = [12.0, -0.0, 50.5, 1e30, True, False, None, "12", "NaN", [], {}]


@pytest.mark.parametrize("wrong", NO_INTEGERS)
@pytest.mark.parametrize("name", ["player_id", "season_id", "points"])
def test_only_an_integer_is_taken_where_a_number_belongs(name: str, wrong: object) -> None:  # D11
    assert code_of(parse_value(value(**{name: wrong}))) == f"bad_{name}"


@pytest.mark.parametrize("text", [b"1e400", b"-1e400", b"1E2", b"15.0"])
def test_a_number_with_an_exponent_or_a_fraction_is_no_integer(text: bytes) -> None:
    assert code_of(parse_value(value(points=7777).replace(b"7777", text))) == "bad_points"


@pytest.mark.parametrize(
    ("name", "wrong", "code"),
    [
        ("player_id", 2**63, "bad_player_id"),  # C5
        ("player_id", -(2**63) - 1, "bad_player_id"),
        ("player_id", 2**64, "bad_player_id"),
        ("player_id", HUGE, "bad_player_id"),
        ("season_id", 0, "bad_season_id"),
        ("season_id", -1, "bad_season_id"),
        ("season_id", 2**31, "bad_season_id"),
        ("points", -1, "points_negative"),
        ("points", 2**31, "points_too_high"),
        ("points", HUGE, "bad_points"),
        ("match_id", "not-a-uuid", "bad_match_id"),
        ("match_id", MATCH.replace("-", ""), "bad_match_id"),
        ("match_id", "{" + MATCH[1:], "bad_match_id"),
        ("match_id", MATCH + "\n", "bad_match_id"),
        ("match_id", MATCH[:-1] + "\u0661", "bad_match_id"),
        ("match_id", "K" + MATCH[1:], "bad_match_id"),
        ("match_id", 5, "bad_match_id"),
        ("match_id", None, "bad_match_id"),
        ("achieved_at", "2026-10-12T18:03:11", "no_offset"),
        ("achieved_at", "2026-12-31T23:59:60Z", "leap_second"),
        ("achieved_at", "yesterday", "bad_time"),
        ("achieved_at", 1_791_828_191, "bad_time"),
        ("achieved_at", None, "bad_time"),
    ],
)
def test_a_field_out_of_its_bounds_is_refused(name: str, wrong: object, code: str) -> None:
    text = value(**{name: wrong}).replace(json.dumps(HUGE).encode(), b"1" + b"0" * 5000)
    assert code_of(parse_value(text)) == code


@pytest.mark.parametrize("player_id", [2**31, 2**53 + 1, 2**63 - 1, -(2**63), 0, -1])
def test_every_64_bit_player_id_is_exact(player_id: int) -> None:  # C5
    result = record(value(player_id=player_id), key=str(player_id).encode())
    assert isinstance(result, Result)
    assert result.player_id == player_id


@pytest.mark.parametrize("seconds", [1.0, True, "1", None, 2**63, -(2**63) - 1, 2**64])
def test_seconds_since_the_start_are_an_integer_of_64_bits(seconds: object) -> None:
    assert (
        code_of(parse_value(json.dumps(JAVA | {"secondsSinceSeasonStart": seconds}).encode()))
        == "bad_seconds"
    )


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (-1, "before_season"),
        (31 * 86_400, "after_season"),
        (2**63 - 1, "after_season"),
        (-(2**63), "before_season"),
    ],
)
def test_seconds_past_the_season_are_refused(seconds: int, code: str) -> None:
    assert code_of(record(json.dumps(JAVA | {"secondsSinceSeasonStart": seconds}).encode())) == code


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (lambda: record(value(season_id=13)), "unknown_season"),
        (lambda: record(value(), key=b"41"), "wrong_key"),
        (lambda: record(value(), key=b"042"), "wrong_key"),
        (lambda: parse_record(value(), None, NOW_MS, {12: SEASON}.get), "wrong_key"),  # B4
        (lambda: record(value(), timestamp_ms=-1), "no_timestamp"),
        (lambda: record(value(), timestamp_ms=SEASON.counts_from_us // 1000 - 1), "too_early"),
        (lambda: record(value(), timestamp_ms=(SEASON.ends_us + SEASON.grace_us) // 1000), "too_late"),
        (lambda: record(value(), timestamp_ms=2**63 - 1), "too_late"),
        (lambda: record(value(), timestamp_ms=-(2**63)), "too_early"),
        (lambda: record(value(points=2**21)), "points_too_high"),
        (lambda: record(value(achieved_at="2026-10-11T23:59:59.999999Z")), "before_season"),
        (lambda: record(value(achieved_at="2026-11-12T00:00:00Z")), "after_season"),
        (lambda: record(value(achieved_at="9999-12-31T23:59:59-12:00")), "after_season"),
        (lambda: record(value(achieved_at="0001-01-01T00:00:00+14:00")), "before_season"),
    ],
)
def test_a_record_past_a_bound_of_its_season_is_refused(outcome: Callable[[], object], code: str) -> None:
    assert code_of(outcome()) == code


@pytest.mark.parametrize(
    "outcome",
    [
        lambda: record(value(points=2**21 - 1)),
        lambda: record(value(points=0)),
        lambda: record(value(achieved_at="2026-10-12T00:00:00Z")),
        lambda: record(value(achieved_at="2026-11-11T23:59:59.999999Z")),
        lambda: record(value(), timestamp_ms=SEASON.counts_from_us // 1000),
        lambda: record(value(), timestamp_ms=(SEASON.ends_us + SEASON.grace_us) // 1000 - 1),
        lambda: parse_record(value(), None, NOW_MS, {12: SEASON}.get, check_key=False),
    ],
)
def test_a_record_at_a_bound_of_its_season_counts(outcome: Callable[[], object]) -> None:
    assert isinstance(outcome(), Result)


def test_ids_may_be_text_in_an_item_of_http_alone() -> None:
    item = load_exact(value(player_id="-9007199254740993", season_id="12"))
    assert parse_fields(item, text_ids=True) == parse_value(value(player_id=-9007199254740993))
    assert code_of(parse_fields(item)) == "bad_player_id"
    assert code_of(parse_fields(load_exact(value(season_id="012")), text_ids=True)) == "bad_season_id"
    assert code_of(parse_fields(load_exact(value(player_id="42 ")), text_ids=True)) == "bad_player_id"


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_player_id_survives_its_text(player_id: int) -> None:
    assert player_id_from_text(str(player_id)) == player_id


@pytest.mark.parametrize(
    "text",
    [
        *[
            "007",
            "+7",
            "-0",
            "",
            "-",
            "7 ",
            " 7",
            "7\n",
            "1_0",
            "\u0667",
            "9223372036854775808",
            "-9223372036854775809",
        ],
        *["9" * 99, "0x7", "7.0", "\ud800"],
    ],
)
def test_a_player_id_in_any_other_text_is_refused(text: str) -> None:
    assert code_of(player_id_from_text(text)) == "bad_player_id"


@given(
    st.uuids(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, SEASON.codec.max_points),
    st.integers(SEASON.starts_us, SEASON.ends_us - 1),
)
def test_a_result_survives_its_canonical_bytes(
    match: object, player_id: int, points: int, achieved_us: int
) -> None:
    result = Result(str(match), player_id, 12, points, achieved_us)
    assert record(result_value(result), key=str(player_id).encode()) == result


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELD_NAMES = st.sampled_from([*USUAL, *JAVA]) | st.text(max_size=3)
LIKELY = (
    st.sampled_from([MATCH, 42, 12, 0, 1518, -1, 2**63, 1.0, "2026-10-12T18:03:11Z", "2026-10-12T18:03:11"])
    | JSON
)


@st.composite
def near_records(draw: st.DrawFn) -> bytes:
    """JSON objects near a record: fields changed, left out, given twice, nested, with spaces and escapes."""
    shape = draw(st.sampled_from([USUAL, JAVA]))
    pairs: list[tuple[str, object]] = list(shape.items())
    for _ in range(draw(st.integers(0, 3))):
        change = draw(st.sampled_from(["set", "add", "drop"]))
        at = draw(st.integers(0, max(0, len(pairs) - 1)))
        if change == "drop" and pairs:
            pairs.pop(at)
        elif change == "set" and pairs:
            pairs[at] = (pairs[at][0], draw(LIKELY))
        else:
            pairs.insert(at, (draw(FIELD_NAMES), draw(LIKELY)))
    ascii_only, colon = draw(st.booleans()), draw(st.sampled_from([":", ": ", " \n:\t"]))
    texts = [
        json.dumps(name, ensure_ascii=ascii_only) + colon + json.dumps(field, ensure_ascii=ascii_only)
        for name, field in pairs
    ]
    return ("{" + ",".join(texts) + "}").encode("utf-8", "surrogatepass")


@settings(max_examples=1000)
@given(near_records())
def test_the_fast_path_takes_nothing_that_the_exact_one_does_not(text: bytes) -> None:
    fast = results._parse_usual(text)
    if fast is not None:
        assert fast == results._parse_exact(text)


@settings(max_examples=300)
@given(near_records() | st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_no_input_does_anything_but_count_or_be_refused(text: bytes) -> None:
    outcome = parse_record(text, b"42", NOW_MS, {12: SEASON}.get)
    if not isinstance(outcome, Result):
        code_of(outcome)


@given(near_records(), st.integers(0, 400), st.binary(max_size=3))
def test_no_damaged_record_does_anything_but_count_or_be_refused(text: bytes, at: int, patch: bytes) -> None:
    at %= len(text)
    damaged = text[:at] + patch + text[at + len(patch) :]
    outcome = parse_value(damaged)
    if not isinstance(outcome, RawResult):
        code_of(outcome)
    fast = results._parse_usual(damaged) if damaged else None
    if fast is not None:
        assert fast == results._parse_exact(damaged)


@given(st.binary(max_size=30) | st.none(), st.integers(-(2**63), 2**63 - 1))
def test_no_key_or_timestamp_does_anything_but_count_or_be_refused(
    key: bytes | None, timestamp_ms: int
) -> None:
    raw = parse_value(value())
    assert isinstance(raw, RawResult)
    outcome = check(raw, SEASON, key, timestamp_ms, True)
    if not isinstance(outcome, Result):
        code_of(outcome)


def test_a_value_is_read_up_to_its_greatest_length() -> None:
    padding = MAX_VALUE_BYTES - len(value(extra=""))
    assert parse_value(value(extra="x" * padding)) == parse_value(value())
    assert code_of(parse_value(value(extra="x" * (padding + 1)))) == "value_too_long"


def test_nesting_is_read_up_to_its_greatest_depth_on_any_stack() -> None:
    def nested(depth: int) -> bytes:
        return value(extra=0)[:-2] + b"[" * depth + b"]" * depth + b"}"

    def on_a_deep_stack(calls: int) -> RawResult | Refusal:
        return parse_value(nested(31)) if calls == 0 else on_a_deep_stack(calls - 1)

    assert parse_value(nested(31)) == on_a_deep_stack(500) == parse_value(value())
    assert code_of(parse_value(nested(32))) == "too_deep"
