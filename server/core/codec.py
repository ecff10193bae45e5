"""The score: points in the high bits, inverted time in the low ones, one integer that a double holds exactly.

Owns: encoding, decoding, and what does not fit.
Never does: wrap, round or clamp; what does not fit is `OutOfRange`.
Neighbours: `season` has one, the submit script computes the same, the mirror decodes whole arrays.
"""

import re
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from server.core.refusals import shown

Int64s = npt.NDArray[np.int64]

MAX_SCORE = 2**53 - 1
"""The greatest integer up to which a double, and so a ZSET score, holds every one."""


class OutOfRange(ValueError):  # noqa: N818  a value out of range is refused, not an error of ours
    """A value that the season's bits cannot hold: `code` of `REFUSALS`, `reason` with value and limit."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ScoreCodec:
    """How one season's scores are made; its start and its tick are in microseconds."""

    points_bits: int
    time_bits: int
    starts_us: int
    tick_us: int
    max_points: int = field(init=False)
    max_ticks: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_points", (1 << self.points_bits) - 1)
        object.__setattr__(self, "max_ticks", (1 << self.time_bits) - 1)

    def ticks(self, achieved_us: int) -> int:
        """Return whole ticks from the start to the instant, rounded down; negative before the start."""
        return (achieved_us - self.starts_us) // self.tick_us

    def tick_start_us(self, achieved_us: int) -> int:
        """Return the start of the instant's tick, in microseconds: the time that a board tells."""
        return achieved_us - (achieved_us - self.starts_us) % self.tick_us

    def encode(self, points: int, achieved_us: int) -> int:
        """Return the score; raise `OutOfRange` where points or time do not fit."""
        ticks = (achieved_us - self.starts_us) // self.tick_us
        if 0 <= points <= self.max_points and 0 <= ticks <= self.max_ticks:
            return points << self.time_bits | (self.max_ticks - ticks)
        raise self._misfit(points, ticks)

    def _misfit(self, points: int, ticks: int) -> OutOfRange:
        if points < 0:
            return OutOfRange("points_negative", f"{shown(points)} points are below 0")
        if points > self.max_points:
            return OutOfRange("points_too_high", f"{shown(points)} points are above {self.max_points}")
        if ticks < 0:
            return OutOfRange("before_season", f"the time is {shown(-ticks)} ticks before the season's start")
        return OutOfRange(
            "after_season", f"tick {shown(ticks)} is above {self.max_ticks}, the last that fits"
        )

    def decode(self, score: int) -> tuple[int, int]:
        """Return (points, tick's start in Unix ms); raise `OutOfRange` for a score of other bits."""
        if not 0 <= score <= (self.max_points << self.time_bits | self.max_ticks):
            bits = self.points_bits + self.time_bits
            raise OutOfRange("score_out_of_range", f"{shown(score)} is no score of {bits} bits")
        ticks = self.max_ticks - (score & self.max_ticks)
        return score >> self.time_bits, (self.starts_us + ticks * self.tick_us) // 1000

    def decode_many(self, scores: Int64s) -> tuple[Int64s, Int64s]:
        """Return (points, tick starts in Unix ms), both int64[n], of the season's scores, int64[n]."""
        ticks = self.max_ticks - (scores & self.max_ticks)
        return scores >> self.time_bits, (self.starts_us + ticks * self.tick_us) // 1000


_INTEGER = re.compile(r"0|[1-9]\d{0,15}", re.ASCII)
_EXPONENT = re.compile(r"\d(?:\.\d{1,17})?e\+?\d{1,2}", re.ASCII)


def score_from_wire(value: bytes | str | int | float) -> int:
    """Return the exact score that any server or protocol writes for a ZSET; raise `OutOfRange` for all else.

    Takes integer text, a double of RESP3, and text with an exponent (`9.007199254740991e+15`), as long as the
    number is an integer from 0 to 2^53 - 1.
    """
    if isinstance(value, bytes):
        value = value.decode("ascii", "replace")
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        score = int(value)
    elif isinstance(value, float) or (isinstance(value, str) and _EXPONENT.fullmatch(value)):
        number = float(value)
        score = int(number) if number.is_integer() else -1
    elif isinstance(value, int) and not isinstance(value, bool):
        score = value
    else:
        score = -1
    if 0 <= score <= MAX_SCORE:
        return score
    raise OutOfRange("score_out_of_range", f"{shown(value)} is no integer from 0 to {MAX_SCORE}")
