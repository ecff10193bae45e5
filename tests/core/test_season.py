"""A season's definition: its defaults, its bounds, and what a refusal says (cases A1, F9)."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.core.instants import END_OF_TIME_US, FIRST_INSTANT_US, instant_text
from server.core.refusals import REFUSALS
from server.core.season import Season, SeasonInvalid
from tests.core import football

CREATED_US = 1_790_000_000_000_000
LEAST: dict[str, object] = {
    "season_id": 12,
    "name": "Autumn",
    "starts_at": "2026-10-12T00:00:00+02:00",
    "ends_at": "2026-11-12T00:00:00+01:00",
}


def parse(**changes: object) -> Season:
    return Season.parse(
        {name: value for name, value in (LEAST | changes).items() if value != "left out"}, CREATED_US
    )


def code_of(**changes: object) -> str:
    with pytest.raises(SeasonInvalid) as refused:
        parse(**changes)
    assert refused.value.code in REFUSALS
    assert refused.value.reason.isascii()
    return refused.value.code


def test_the_least_definition_gets_the_documented_defaults() -> None:
    assert parse().definition() == {
        "season_id": 12,
        "name": "Autumn",
        "starts_at": "2026-10-11T22:00:00Z",
        "ends_at": "2026-11-11T23:00:00Z",
        "operator": "best",
        "points_bits": 21,
        "time_bits": 32,
        "tick": "1 second",
        "time_zone": "UTC",
        "counts_from": instant_text(CREATED_US - 86_400_000_000),
        "grace": "1 hour",
    }


def test_the_football_season_has_a_tick_of_a_day() -> None:
    season = football.season()
    assert (season.season_id, season.tick, season.board) == (1872, "1 day", "s1872")
    assert season.codec.ticks(season.ends_us - 1) == 83_275


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"season_id": "left out"}, "missing_field"),
        ({"starts_at": "left out"}, "missing_field"),
        ({"season_id": 0}, "bad_season_id"),
        ({"season_id": 2**31}, "bad_season_id"),
        ({"season_id": "12"}, "bad_season_id"),
        ({"season_id": True}, "bad_season_id"),
        ({"season_id": 10**300}, "bad_season_id"),
        ({"name": " "}, "name_empty"),
        ({"name": None}, "bad_name"),
        ({"starts_at": "2026-10-12T00:00:00"}, "no_offset"),
        ({"starts_at": "2026-10-12"}, "bad_time"),
        ({"starts_at": "0001-01-01T00:00:00+01:00"}, "bad_time"),
        ({"ends_at": "9999-12-31T23:59:59-01:00"}, "bad_time"),
        ({"ends_at": "2026-10-12T00:00:00+02:00"}, "season_empty"),
        ({"operator": "max"}, "bad_operator"),
        ({"operator": ["best"]}, "bad_operator"),
        ({"points_bits": 0}, "bad_bits"),
        ({"points_bits": 32, "time_bits": 20}, "bad_bits"),
        ({"points_bits": 22}, "bad_bits"),
        ({"time_bits": -1}, "bad_bits"),
        ({"time_bits": 21.0}, "bad_bits"),
        ({"tick": "1 fortnight"}, "bad_duration"),
        ({"tick": 1}, "bad_duration"),
        ({"tick": "0 seconds"}, "bad_duration"),
        ({"grace": "an hour"}, "bad_duration"),
        ({"tick": "1 millisecond", "time_bits": 31}, "season_too_long"),
        ({"time_zone": "Mars/Olympus"}, "bad_time_zone"),
        ({"time_zone": "../UTC"}, "bad_time_zone"),
        ({"time_zone": "America"}, "bad_time_zone"),
        ({"time_zone": "+02:00"}, "bad_time_zone"),
        ({"time_zone": "\ud800"}, "bad_time_zone"),
        ({"time_zone": None}, "bad_time_zone"),
        ({"counts_from": "2026-12-01T00:00:00Z"}, "counts_never"),
        ({"colour": "red"}, "unknown_field"),
    ],
)
def test_a_definition_out_of_bounds_is_refused(changes: dict[str, object], code: str) -> None:
    assert code_of(**changes) == code


@pytest.mark.parametrize("obj", [None, [], "text", 1, [LEAST]])
def test_only_an_object_defines_a_season(obj: object) -> None:
    with pytest.raises(SeasonInvalid) as refused:
        Season.parse(obj, CREATED_US)
    assert refused.value.code == "bad_season"


def test_a_season_fits_up_to_its_last_tick() -> None:
    fitting = {"starts_at": "2026-10-12T00:00:00Z", "ends_at": "2026-10-12T00:00:16Z", "time_bits": 4}
    season = parse(**fitting)
    assert season.codec.encode(0, season.ends_us - 1) == 0
    assert code_of(**fitting | {"ends_at": "2026-10-12T00:00:16.000001Z"}) == "season_too_long"


def test_records_count_from_counts_from_to_the_end_of_the_grace() -> None:
    season = parse(counts_from="2026-10-01T00:00:00Z", grace="90 seconds")
    first_ms, end_ms = season.counts_from_us // 1000, season.ends_us // 1000 + 90_000
    outcomes = [season.refuse_timestamp(at) for at in (first_ms - 1, first_ms, end_ms - 1, end_ms, -1)]
    assert [outcome and outcome.code for outcome in outcomes] == [
        "too_early",
        None,
        None,
        "too_late",
        "no_timestamp",
    ]


def test_a_season_may_have_no_grace() -> None:
    season = parse(grace="0 seconds")
    assert season.refuse_timestamp(season.ends_us // 1000) is not None
    assert parse(**season.definition()) == season


def test_the_same_definition_in_other_words_is_the_same() -> None:
    named = parse(starts_at="2026-10-11T22:00:00.000Z", tick="1000 milliseconds", grace="60 minutes")
    assert parse().differences(named) == []


def test_a_definition_that_names_no_counts_from_agrees_with_the_first_one() -> None:
    later = Season.parse(LEAST, CREATED_US + 86_400_000_000)
    assert parse().differences(later) == []


def test_another_definition_is_told_field_by_field() -> None:
    assert parse().differences(
        parse(operator="sum", grace="2 hours", counts_from="2026-10-01T00:00:00Z")
    ) == [
        "operator is 'best', not 'sum'",
        "counts_from is '2026-09-20T14:13:20Z', not '2026-10-01T00:00:00Z'",
        "grace is '1 hour', not '2 hours'",
    ]


TICKS_US = {
    "100 milliseconds": 100_000,
    "1 second": 1_000_000,
    "5 minutes": 300_000_000,
    "1 day": 86_400_000_000,
}


@st.composite
def seasons(draw: st.DrawFn) -> Season:
    tick = draw(st.sampled_from([*TICKS_US]))
    points_bits = draw(st.integers(1, 31))
    time_bits = draw(st.integers(0, 53 - points_bits))
    starts_us = draw(st.integers(FIRST_INSTANT_US, END_OF_TIME_US - 2))
    longest_us = TICKS_US[tick] << time_bits
    ends_us = draw(st.integers(starts_us + 1, min(END_OF_TIME_US - 1, starts_us + longest_us)))
    obj: dict[str, object] = {"season_id": draw(st.integers(1, 2**31 - 1)), "name": "Any", "operator": "sum"}
    obj |= {"starts_at": instant_text(starts_us), "ends_at": instant_text(ends_us), "tick": tick}
    obj |= {"points_bits": points_bits, "time_bits": time_bits, "counts_from": "0001-01-01T00:00:00Z"}
    return Season.parse(obj, CREATED_US)


@given(seasons())
def test_a_valid_season_survives_its_canonical_definition(season: Season) -> None:
    assert Season.parse(json.loads(json.dumps(season.definition())), 0) == season


@given(seasons())
def test_every_instant_of_a_valid_season_fits_its_codec(season: Season) -> None:
    first = season.codec.encode(season.codec.max_points, season.starts_us)
    assert season.codec.encode(season.codec.max_points, season.ends_us - 1) <= first <= 2**53 - 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(
    st.dictionaries(
        st.sampled_from([*LEAST, "operator", "tick", "time_bits", "time_zone", "grace", "x"]), JSON
    )
)
def test_no_definition_does_anything_but_parse_or_be_refused(changes: dict[str, object]) -> None:
    with suppress(SeasonInvalid):
        season = parse(**changes)
        assert season.codec.max_ticks >= season.codec.ticks(season.ends_us - 1)
