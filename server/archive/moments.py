"""Microseconds since the Unix epoch to the datetimes that the driver speaks, and back, exactly."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def moment(instant_us: int) -> datetime:
    """Return the datetime in UTC of an instant of the years 0001 to 9999."""
    return _EPOCH + timedelta(microseconds=instant_us)


def instant_us(moment: datetime) -> int:
    """Return the microseconds since the Unix epoch of an aware datetime."""
    return (moment - _EPOCH) // _MICROSECOND


def span(duration_us: int) -> timedelta:
    """Return the duration as PostgreSQL's interval of days, seconds and microseconds, never months."""
    return timedelta(microseconds=duration_us)
