"""Instants and durations: RFC 3339 and "5 minutes" to microseconds (since the Unix epoch), and back.

Owns: what is an instant (RFC 3339 alone, with an offset; cut, never rounded, to microseconds) and a duration.
Never does: read a clock or a time zone. Neighbours: `results` and `season` parse with it.
"""

import re
from datetime import UTC, datetime, timedelta

from server.core.refusals import Refusal, shown

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)
_LOOSE = re.compile(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:)(\d\d)(?:\.\d+)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)
_is_instant = _INSTANT.fullmatch
_read = datetime.fromisoformat

FIRST_INSTANT_US = -62_135_596_800_000_000
"""0001-01-01T00:00:00Z in microseconds since the epoch."""
END_OF_TIME_US = 253_402_300_800_000_000
"""The instant after 9999-12-31T23:59:59.999999Z in microseconds since the epoch."""

_UNITS_US = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
}
_LONGEST_US = 3_652_059 * _UNITS_US["day"]  # the years 0001 to 9999
_DURATION = re.compile(r"([1-9]\d{0,14}) (millisecond|second|minute|hour|day)s?", re.ASCII)


def parse_usual_instant(text: str) -> int | None:
    """Return microseconds since the epoch of RFC 3339 with capital T and Z, or None for any other text."""
    if _is_instant(text) is None:
        return None
    try:
        since = _read(text) - _EPOCH
    except ValueError:  # a day that the month has not, or the year 0000
        return None
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def parse_instant(value: object) -> int | Refusal:
    """Return microseconds since the epoch of an RFC 3339 instant, or why it is none; fractions are cut."""
    if not isinstance(value, str):
        return Refusal("bad_time", f"{shown(value)} is no text; write RFC 3339, as 2026-10-12T18:03:11.250Z")
    instant = parse_usual_instant(value)
    if instant is not None:
        return instant
    loose = _LOOSE.fullmatch(value)
    if loose is None:
        return _bad_time(value)
    if loose[3] is None:
        return Refusal("no_offset", f"{shown(value)} has no offset from UTC; end it with Z or +02:00")
    instant = parse_usual_instant(value.upper())
    if instant is not None:
        return instant
    if loose[2] == "60":
        return Refusal("leap_second", f"{shown(value)} is a leap second; send the second before it")
    return _bad_time(value)


def _bad_time(value: str) -> Refusal:
    return Refusal(
        "bad_time",
        f"{shown(value)} is no instant of the years 0001 to 9999; write it as 2026-10-12T18:03:11.250Z",
    )


def instant_text(instant_us: int) -> str:
    """Return RFC 3339 in UTC, with as many digits of a second as it needs (0, 3 or 6)."""
    moment = _EPOCH + timedelta(microseconds=instant_us)
    if moment.microsecond == 0:
        return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
    timespec = "microseconds" if moment.microsecond % 1000 else "milliseconds"
    return moment.isoformat(timespec=timespec).replace("+00:00", "Z")


def parse_duration(value: object) -> int | Refusal:
    """Return the microseconds of a text such as "100 milliseconds" or "1 day", or why it is none."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    duration_us = int(match[1]) * _UNITS_US[match[2]] if match else 0
    if 0 < duration_us <= _LONGEST_US:
        return duration_us
    return Refusal(
        "bad_duration",
        f"{shown(value)} is no duration of up to {duration_text(_LONGEST_US)}; write a number and a unit, "
        'as in "100 milliseconds", "1 second", "5 minutes", "1 hour" or "1 day"',
    )


def duration_text(duration_us: int) -> str:
    """Return whole milliseconds in the largest unit that divides them: "90 seconds", "1 day"."""
    for unit, size_us in _UNITS_US.items():
        if duration_us % size_us == 0:
            count = duration_us // size_us
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    raise ValueError(f"{duration_us} microseconds are no whole milliseconds")
