"""What is found wrong with a season, by kind and in sentences.

Owns the kinds and their words, and that only the first sentences are kept. Pure.
Neighbours: `audit.py` and `reconcile.py` find, `commands` print, `audits` in PostgreSQL keep.
"""

from collections import Counter
from dataclasses import dataclass, field

from server.core.board_page import Alien
from server.core.instants import instant_text
from server.core.season import Season

EXAMPLES = 20

KINDS = {
    "missing": "PostgreSQL has the player, the board has not",
    "extra": "the board has the player, PostgreSQL has not",
    "score": "points or time differ",
    "alien": "a member of the board is no player's id, or its score is none",
    "order": "two players of equal rows stand in another order",
    "rank": "Redis tells another rank than the order of its scores",
    "total": "player_totals holds something else than the rows add up to",
    "row": "rows that the last audit saw are gone or have changed",
    "hash": "the boards' hashes differ",
}
"""Every kind of difference, with its explanation."""


@dataclass(slots=True)
class Findings:
    """Counts by kind, and the first `most` sentences."""

    season: Season
    counts: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    most: int = EXAMPLES

    def add(self, kind: str, sentence: str) -> None:
        """Note one difference of a kind of `KINDS`."""
        self.counts[kind] += 1
        if len(self.examples) < self.most:
            self.examples.append(f"{kind}: {sentence}")

    def add_score(self, player: int, board: int, sql: int) -> None:
        """Note a player whose scores differ (-1: not on that side)."""
        kind = "missing" if board < 0 else "extra" if sql < 0 else "score"
        board_text, sql_text = score_text(self.season, board), score_text(self.season, sql)
        self.add(kind, f"player {player}: Redis {board_text}, SQL {sql_text}")

    def add_alien(self, alien: Alien) -> None:
        """Note a member that is no player."""
        self.add("alien", f"member {alien.member!r} with score {alien.score}")

    def add_total(self, player: int, rows: tuple[int, int], total: tuple[int, int]) -> None:
        """Note a total that its rows do not add up to; both are points (-1: none) and time (us)."""
        self.add("total", f"player {player}: rows {_way_text(*rows)}, player_totals {_way_text(*total)}")


def score_text(season: Season, score: int) -> str:
    """A score as people read it: points, and the start of the tick; "none" for -1."""
    if score < 0:
        return "none"
    try:
        points, achieved_ms = season.codec.decode(score)
        return _way_text(points, achieved_ms * 1000)
    except (ValueError, OverflowError):
        return f"score {score}, which is none of the season's"


def _way_text(points: int, achieved_us: int) -> str:
    if points < 0:
        return "none"
    try:
        return f"{points} points at {instant_text(achieved_us)}"
    except OverflowError:  # a hand may write any time
        return f"{points} points at {achieved_us} us"
