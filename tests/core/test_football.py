"""The shipped results: the messy file loses exactly its 484 bad lines, and both end in the expected board."""

import json
import re
from collections import Counter

from server.core.refusals import Refusal
from server.core.results import Result, parse_record
from tests.core import football

SEASON = football.season()


def parse(name: str) -> list[Result | Refusal]:
    """Parse each line with the key that it was sent with: its player id, or none where it has none."""
    return [
        parse_record(line, key_of(line), football.NOW_MS, {SEASON.season_id: SEASON}.get)
        for line in football.lines(name)
    ]


def key_of(line: bytes) -> bytes | None:
    player = re.search(rb'"player_id": ?(-?\d+)', line)
    return player[1] if player else None


def best(outcomes: list[Result | Refusal]) -> list[list[int]]:
    """Return rows of rank, player, points and day, as `expected_best.json` has them."""
    scores: dict[int, int] = {}
    for outcome in outcomes:
        if isinstance(outcome, Result):
            score = SEASON.codec.encode(outcome.points, outcome.achieved_us)
            scores[outcome.player_id] = max(score, scores.get(outcome.player_id, 0))
    order = sorted(scores, key=lambda player: (scores[player], str(player)), reverse=True)
    rows = [(player, *SEASON.codec.decode(scores[player])) for player in order]
    return [
        [rank, player, points, (achieved_ms * 1000 - SEASON.starts_us) // SEASON.tick_us]
        for rank, (player, points, achieved_ms) in enumerate(rows, 1)
    ]


def test_the_messy_file_has_484_bad_lines_and_4943_repeated_ones() -> None:
    outcomes = parse("messy.jsonl.gz")
    good = [outcome for outcome in outcomes if isinstance(outcome, Result)]
    refused = Counter(outcome.code for outcome in outcomes if isinstance(outcome, Refusal))
    assert refused.total() == 484
    assert len(good) == 99_040 + 4_943
    assert len({(result.match_id, result.player_id) for result in good}) == 99_040
    assert refused == {
        "bad_points": 99,
        "bad_player_id": 60,
        "not_an_object": 50,
        "points_negative": 42,
        "bad_match_id": 37,
        "points_too_high": 33,
        "not_json": 32,
        "empty_value": 30,
        "bad_time": 29,
        "not_utf8": 27,
        "unknown_season": 23,
        "before_season": 22,
    }


def test_both_files_end_in_the_expected_board() -> None:
    expected = json.loads((football.FOLDER / "expected_best.json").read_text())["rows"]
    tidy = parse("results.jsonl.gz")
    assert not [outcome for outcome in tidy if isinstance(outcome, Refusal)]
    assert best(tidy) == expected
    assert best(parse("messy.jsonl.gz")) == expected
