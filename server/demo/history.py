"""The demo's data: 150 years of football as results, teams with names and flags, and the days they played on.

Owns the reading of `football/` and its shapes. Never sends anything, and knows no clock.
Neighbours: `player.py` plays it, `tests` count it.
"""

import gzip
from collections.abc import Sequence
from importlib.resources import files
from itertools import groupby
from typing import NamedTuple

import orjson

from server.core.results import RawResult, Result, parse_value
from server.core.season import Season

SEASON_ID = 1
_REGIONAL_A = 0x1F1E6
_BLACK_FLAG, _TAG, _CANCEL_TAG = 0x1F3F4, 0xE0000, 0xE007F


class MatchDay(NamedTuple):
    """One day's results: those from `start` to before `end`. `us` is its start, Unix microseconds."""

    us: int
    start: int
    end: int


class Match(NamedTuple):
    """One match: two players with their goals."""

    home: int
    home_goals: int
    away: int
    away_goals: int


def load_season(created_us: int) -> Season:
    """The demo's season, created at `created_us`: goals of all matches added up, by the day."""
    definition = orjson.loads(_read("season.json"))
    return Season.parse({**definition, "season_id": SEASON_ID, "operator": "sum"}, created_us)


def load_names() -> dict[int, str]:
    """The teams by player id."""
    return {int(player): name for player, name in orjson.loads(_read("teams.json")).items()}


def load_flags() -> dict[int, str]:
    """The flag of each team that has one among the emoji, by player id."""
    codes = orjson.loads(_read("flags.json"))
    return {player: flag(codes[name]) for player, name in load_names().items() if name in codes}


def flag(code: str) -> str:
    """The emoji of a country ("BR") or one of its parts ("GB-SCT")."""
    if "-" not in code:
        return "".join(chr(_REGIONAL_A + ord(letter) - ord("A")) for letter in code)
    tags = "".join(chr(_TAG + ord(letter)) for letter in code.replace("-", "").lower())
    return f"{chr(_BLACK_FLAG)}{tags}{chr(_CANCEL_TAG)}"


def load_results() -> list[Result]:
    """Every result in the order of its day, as one of the demo's season."""
    lines = gzip.decompress(_read("results.jsonl.gz")).splitlines()
    return [_of_the_demo(parse_value(line)) for line in lines]


def match_days(results: Sequence[Result]) -> list[MatchDay]:
    """The days on which somebody played, in order; together they hold every result."""
    days: list[MatchDay] = []
    for us, played in groupby(results, key=lambda result: result.achieved_us):
        start = days[-1].end if days else 0
        days.append(MatchDay(us, start, start + sum(1 for _ in played)))
    return days


def best_match(results: Sequence[Result]) -> Match | None:
    """The match with the most goals among results that stand in pairs; None where there is none."""
    pairs = zip(results[::2], results[1::2], strict=False)
    matches = [
        Match(home.player_id, home.points, away.player_id, away.points)
        for home, away in pairs
        if home.match_id == away.match_id
    ]
    return max(matches, key=lambda match: match.home_goals + match.away_goals, default=None)


def _of_the_demo(raw: object) -> Result:
    assert isinstance(raw, RawResult)  # the file is ours
    return Result(raw.match_id, raw.player_id, SEASON_ID, raw.points, raw.time)


def _read(name: str) -> bytes:
    return files("server.demo").joinpath("football", name).read_bytes()
