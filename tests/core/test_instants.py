"""RFC 3339 alone, with an offset, cut to microseconds (case C4); durations and back."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.core.instants import (
    END_OF_TIME_US,
    FIRST_INSTANT_US,
    duration_text,
    instant_text,
    parse_duration,
    parse_instant,
)
from server.core.refusals import REFUSALS, Refusal

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def us(*moment: int) -> int:
    return (datetime(*moment, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)  # type: ignore[misc,arg-type]  # a tuple


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2024-03-31T02:30:00+02:00", us(2024, 3, 31, 0, 30)),
        ("2024-03-31T00:30:00Z", us(2024, 3, 31, 0, 30)),
        ("2024-03-31t00:30:00z", us(2024, 3, 31, 0, 30)),
        ("2024-03-31T00:30:00-00:00", us(2024, 3, 31, 0, 30)),
        ("1969-12-31T23:59:59.5Z", -500_000),
        ("9999-12-31T23:59:59.999999999Z", END_OF_TIME_US - 1),
        ("0001-01-01T00:00:00+14:00", FIRST_INSTANT_US - 14 * 3_600_000_000),
        ("9999-12-31T23:59:59-12:00", END_OF_TIME_US + 12 * 3_600_000_000 - 1_000_000),
        ("2026-10-12T18:03:11.2509999Z", us(2026, 10, 12, 18, 3, 11, 250_999)),
        ("2026-10-12T18:03:11." + "9" * 500 + "Z", us(2026, 10, 12, 18, 3, 11, 999_999)),
        ("2024-02-29T00:00:00Z", us(2024, 2, 29)),
    ],
)
def test_an_instant_is_one_moment_in_utc_cut_to_microseconds(text: str, instant: int) -> None:
    assert parse_instant(text) == instant


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("2024-03-31T02:30:00", "no_offset"),
        ("2024-03-31T02:30:00.123", "no_offset"),
        ("2016-12-31T23:59:60Z", "leap_second"),
        ("2016-12-31t23:59:60.5z", "leap_second"),
        ("2016-12-31T23:59:61Z", "bad_time"),
        ("2023-02-29T00:00:00Z", "bad_time"),
        ("0000-01-01T00:00:00Z", "bad_time"),
        ("2024-03-31 02:30:00Z", "bad_time"),
        ("2024-03-31T24:00:00Z", "bad_time"),
        ("2024-03-31T02:30Z", "bad_time"),
        ("2024-03-31T02:30:00,5Z", "bad_time"),
        ("2024-03-31T02:30:00.Z", "bad_time"),
        ("2024-03-31T02:30:00+24:00", "bad_time"),
        ("2024-03-31T02:30:00+0200", "bad_time"),
        ("2024-03-31T02:30:00+02:00:30", "bad_time"),
        ("20240331T023000Z", "bad_time"),
        ("2024-W13-7T00:00:00Z", "bad_time"),
        ("2024-03-31T02:30:00Z ", "bad_time"),
        ("٢٠٢٤-03-31T02:30:00Z", "bad_time"),
        ("2024-03-31T02:30:00Z\ud800", "bad_time"),
        ("yesterday", "bad_time"),
        ("", "bad_time"),
        (1711845000, "bad_time"),
        (1711845000.5, "bad_time"),
        (None, "bad_time"),
    ],
)
def test_what_rfc_3339_does_not_allow_is_refused(value: object, code: str) -> None:
    refusal = parse_instant(value)
    assert isinstance(refusal, Refusal)
    assert refusal.code == code


@given(st.integers(FIRST_INSTANT_US, END_OF_TIME_US - 1))
def test_every_instant_survives_its_text(instant_us: int) -> None:
    assert parse_instant(instant_text(instant_us)) == instant_us


@given(st.text() | st.from_regex(r"\A\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d*)?([Zz]|[+-]\d\d:?\d\d)?\Z"))
def test_no_text_does_anything_but_parse_or_be_refused(text: str) -> None:
    outcome = parse_instant(text)
    assert isinstance(outcome, int) or outcome.code in REFUSALS


@pytest.mark.parametrize(
    ("text", "duration_us"),
    [
        ("1 second", 1_000_000),
        ("100 milliseconds", 100_000),
        ("1 millisecond", 1_000),
        ("5 minutes", 300_000_000),
        ("1 hour", 3_600_000_000),
        ("1 day", 86_400_000_000),
        ("7 days", 604_800_000_000),
    ],
)
def test_a_duration_is_a_number_and_a_unit(text: str, duration_us: int) -> None:
    assert parse_duration(text) == duration_us
    assert duration_text(duration_us) == text


@pytest.mark.parametrize(
    "value",
    [
        "",
        "second",
        "0 seconds",
        "01 second",
        "1.5 seconds",
        "1  second",
        "1second",
        "1 week",
        "-1 day",
        1,
        None,
        *["1 second ", "1 Second", "\u0661 second", "9" * 99 + " days", "3652060 days", True],
    ],
)
def test_no_other_duration_is_taken(value: object) -> None:
    refusal = parse_duration(value)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "bad_duration"


@given(st.integers(1, 3_652_059 * 86_400_000))
def test_every_duration_of_whole_milliseconds_survives_its_text(milliseconds: int) -> None:
    assert parse_duration(duration_text(milliseconds * 1000)) == milliseconds * 1000
