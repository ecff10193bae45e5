"""A season's definition: parsed from its file, validated with clear reasons, never changed afterwards.

Owns: which definitions are valid, their defaults, which records a season counts, the canonical definition.
Never does: look a season up, or ask what time it is (`created_us` is handed in).
Neighbours: `codec` makes its scores, `results` asks `refuse_timestamp`, `archive` keeps the definition.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Literal, NoReturn

from server.core.codec import ScoreCodec
from server.core.instants import (
    END_OF_TIME_US,
    FIRST_INSTANT_US,
    duration_text,
    instant_text,
    parse_duration,
    parse_instant,
)
from server.core.names import clean_name
from server.core.refusals import Refusal, shown

Operator = Literal["best", "sum"]

DAY_US = 86_400_000_000
HOUR_US = 3_600_000_000
MAX_SEASON_ID = 2**31 - 1
MAX_EXACT_BITS = 53
_FIELDS = frozenset(
    {"season_id", "name", "starts_at", "ends_at", "operator", "points_bits", "time_bits"}
    | {"tick", "time_zone", "counts_from", "grace"}
)


class SeasonInvalid(ValueError):  # noqa: N818  a definition that is refused, not an error of ours
    """A definition that is refused: `code` of `REFUSALS`, `reason` with value, limit and remedy."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Season:
    """One season; instants and durations in microseconds, instants since the Unix epoch.

    `counts_from_us` to `ends_us + grace_us` is when records are counted, by their Kafka timestamps.
    `counts_from_default` tells that no file named it: it agrees with whatever the season was created with.
    """

    season_id: int
    name: str
    starts_us: int
    ends_us: int
    operator: Operator
    points_bits: int
    time_bits: int
    tick_us: int
    time_zone: str
    counts_from_us: int
    grace_us: int
    counts_from_default: bool = field(default=False, compare=False)
    resets: int = field(default=0, compare=False)  # how often it was reset, no part of its definition
    codec: ScoreCodec = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        codec = ScoreCodec(self.points_bits, self.time_bits, self.starts_us, self.tick_us)
        object.__setattr__(self, "codec", codec)

    @property
    def board(self) -> str:
        """The name of the season's board: `s12`."""
        return f"s{self.season_id}"

    @property
    def tick(self) -> str:
        """The tick as canonical text: "1 second"."""
        return duration_text(self.tick_us)

    def refuse_timestamp(self, timestamp_ms: int) -> Refusal | None:
        """Return why a record of this Kafka timestamp (Unix milliseconds) does not count, or None."""
        timestamp_us = timestamp_ms * 1000
        if self.counts_from_us <= timestamp_us < self.ends_us + self.grace_us and timestamp_ms != -1:
            return None
        if timestamp_ms == -1:
            return Refusal(
                "no_timestamp", "the record has no Kafka timestamp; let the topic set LogAppendTime"
            )
        written = _instant_or_number(timestamp_us)
        if timestamp_us < self.counts_from_us:
            limit = instant_text(self.counts_from_us)
            return Refusal(
                "too_early", f"written at {written}; season {self.season_id} counts records from {limit}"
            )
        limit = instant_text(self.ends_us)
        grace = duration_text(self.grace_us) if self.grace_us else "none"
        return Refusal(
            "too_late", f"written at {written}; season {self.season_id} ended at {limit}, grace {grace}"
        )

    def definition(self) -> dict[str, object]:
        """Return the canonical definition, in the shape of a season's file with every field."""
        return {
            "season_id": self.season_id,
            "name": self.name,
            "starts_at": instant_text(self.starts_us),
            "ends_at": instant_text(self.ends_us),
            "operator": self.operator,
            "points_bits": self.points_bits,
            "time_bits": self.time_bits,
            "tick": self.tick,
            "time_zone": self.time_zone,
            "counts_from": instant_text(self.counts_from_us),
            "grace": duration_text(self.grace_us) if self.grace_us else "0 seconds",
        }

    def differences(self, wanted: "Season") -> list[str]:
        """Return what `wanted`, defined for the same id, has otherwise; empty for the same definition."""
        mine, theirs = self.definition(), wanted.definition()
        if wanted.counts_from_default:
            theirs["counts_from"] = mine["counts_from"]
        return [
            f"{name} is {mine[name]!r}, not {theirs[name]!r}" for name in mine if mine[name] != theirs[name]
        ]

    @classmethod
    def parse(cls, obj: object, created_us: int) -> "Season":
        """Return the season that a file's JSON defines, created at `created_us`; raise `SeasonInvalid`."""
        if not isinstance(obj, Mapping):
            _refuse("bad_season", f"{shown(obj)} is no JSON object; see a season's file for the fields")
        for name in obj:
            if name not in _FIELDS:
                _refuse(
                    "unknown_field",
                    f"{shown(name)} is no field of a season; known: {', '.join(sorted(_FIELDS))}",
                )
        season = cls(
            season_id=_integer(obj, "season_id", "bad_season_id", 1, MAX_SEASON_ID),
            name=_name(obj),
            starts_us=_instant(obj, "starts_at"),
            ends_us=_instant(obj, "ends_at"),
            operator=_operator(obj),
            points_bits=_integer(obj, "points_bits", "bad_bits", 1, 31, default=21),
            time_bits=_integer(obj, "time_bits", "bad_bits", 0, MAX_EXACT_BITS - 1, default=32),
            tick_us=_duration(obj, "tick", 1_000_000),
            time_zone=_time_zone(obj),
            counts_from_us=_instant(obj, "counts_from") if "counts_from" in obj else created_us - DAY_US,
            grace_us=_grace(obj),
            counts_from_default="counts_from" not in obj,
        )
        season._validate()
        return season

    def _validate(self) -> None:
        """Raise `SeasonInvalid` where fields that are valid alone do not go together."""
        if self.ends_us <= self.starts_us:
            ends, starts = instant_text(self.ends_us), instant_text(self.starts_us)
            _refuse("season_empty", f"ends_at {ends} is not after starts_at {starts}; move one of them")
        bits = self.points_bits + self.time_bits
        if bits > MAX_EXACT_BITS:
            _refuse(
                "bad_bits", f"points_bits + time_bits is {bits}, above {MAX_EXACT_BITS}; take fewer of either"
            )
        last = self.codec.ticks(self.ends_us - 1)
        if last > self.codec.max_ticks:
            _refuse(
                "season_too_long",
                f"the season has {last + 1} ticks of {self.tick}, {self.time_bits} time bits hold "
                f"{self.codec.max_ticks + 1}; take a longer tick or more time_bits",
            )
        if self.counts_from_us >= self.ends_us + self.grace_us:
            counts_from, ends = instant_text(self.counts_from_us), instant_text(self.ends_us)
            _refuse(
                "counts_never",
                f"counts_from {counts_from} is not before ends_at {ends} plus grace: no record would count; "
                "name an earlier counts_from or a longer grace",
            )


def _refuse(code: str, reason: str) -> NoReturn:
    raise SeasonInvalid(code, reason)


def _required(obj: Mapping[object, object], name: str) -> object:
    if name not in obj:
        _refuse("missing_field", f"the definition lacks {name}; add it")
    return obj[name]


def _integer(
    obj: Mapping[object, object], name: str, code: str, least: int, most: int, *, default: int | None = None
) -> int:
    if default is not None and name not in obj:
        return default
    value = _required(obj, name)
    if type(value) is not int or not least <= value <= most:
        _refuse(code, f"{name} {shown(value)} is no integer from {least} to {most}")
    return value


def _name(obj: Mapping[object, object]) -> str:
    name = clean_name(_required(obj, "name"))
    if isinstance(name, Refusal):
        _refuse(name.code, f"name: {name.reason}")
    return name


def _instant(obj: Mapping[object, object], name: str) -> int:
    instant = parse_instant(_required(obj, name))
    if isinstance(instant, Refusal):
        _refuse(instant.code, f"{name}: {instant.reason}")
    if not FIRST_INSTANT_US <= instant < END_OF_TIME_US:
        _refuse("bad_time", f"{name} {shown(obj[name])} is outside of the years 0001 to 9999 in UTC")
    return instant


def _duration(obj: Mapping[object, object], name: str, default_us: int) -> int:
    if name not in obj:
        return default_us
    duration = parse_duration(obj[name])
    if isinstance(duration, Refusal):
        _refuse(duration.code, f"{name}: {duration.reason}")
    return duration


def _grace(obj: Mapping[object, object]) -> int:
    return 0 if obj.get("grace") == "0 seconds" else _duration(obj, "grace", HOUR_US)


def _operator(obj: Mapping[object, object]) -> Operator:
    operator = obj.get("operator", "best")
    if operator not in ("best", "sum"):
        _refuse("bad_operator", f'operator {shown(operator)} is neither "best" nor "sum"')
    return operator


def _time_zone(obj: Mapping[object, object]) -> str:
    name = obj.get("time_zone", "UTC")
    if not isinstance(name, str) or name not in _time_zones():
        _refuse(
            "bad_time_zone",
            f'time_zone {shown(name)} is not one of the IANA\'s; write one such as "Europe/Paris"',
        )
    return name


@lru_cache(maxsize=1)
def _time_zones() -> frozenset[str]:
    """Return the IANA's names as the package tzdata lists them, the same on every machine."""
    return frozenset(files("tzdata").joinpath("zones").read_text("ascii").split())


def _instant_or_number(instant_us: int) -> str:
    inside = FIRST_INSTANT_US <= instant_us < END_OF_TIME_US
    return instant_text(instant_us) if inside else f"{shown(instant_us // 1000)} Unix milliseconds"
