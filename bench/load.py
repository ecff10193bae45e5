"""Results as a game's servers send them: a population in which a few play much and most play little.

Owns the players, how often each plays and how well, and the records' bytes. Never sends.
Neighbours: `ingest.py` and `latency.py` send these through Kafka.
"""

import os
import time
import uuid

import numpy as np

from server.core.instants import instant_text
from server.core.season import Season

PLAYERS = 100_000
DAY_US = 86_400_000_000

Record = tuple[bytes, bytes]
"""Key and value of a Kafka record."""


def running_season(season_id: int, operator: str) -> Season:
    """A season that began yesterday: what is achieved now is recent, so markers alone tell repetitions."""
    now_us = time.time_ns() // 1_000
    return Season.parse(
        {
            "season_id": season_id,
            "name": f"bench {season_id}",
            "starts_at": instant_text(now_us // DAY_US * DAY_US - DAY_US),
            "ends_at": instant_text(now_us // DAY_US * DAY_US + 30 * DAY_US),
            "operator": operator,
        },
        now_us,
    )


class Population:
    """Players with ids of some ten digits; `seed` makes the same ones again."""

    def __init__(self, season: Season, players: int = PLAYERS, seed: int = 3) -> None:
        self._dice = np.random.default_rng(seed)
        self._season = season
        self.players = np.unique(self._dice.integers(1, 10**10, players))
        eager = self._dice.lognormal(0.0, 1.5, players)  # the busiest 1 % play a fifth of all matches
        self._often = np.cumsum(eager[: len(self.players)])
        self._skill = self._dice.lognormal(0.0, 0.5, players)

    def debut(self) -> list[Record]:
        """One result of every player, in any order: a board on which everybody stands."""
        return self._records(self._dice.permutation(len(self.players)))

    def matches(self, count: int) -> list[Record]:
        """So many results, by how often each player plays."""
        drawn = np.searchsorted(self._often, self._dice.random(count) * self._often[-1])
        return self._records(np.minimum(drawn, len(self.players) - 1))

    def _records(self, who: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> list[Record]:
        luck = self._dice.lognormal(0.0, 0.7, len(who))
        points = np.minimum(1 + 10 * self._skill[who] * luck, 1_000).astype(np.int64)
        now_us = time.time_ns() // 1_000
        ids = os.urandom(16 * len(who))  # a match is never played twice
        return [
            record(
                self._season.season_id,
                str(uuid.UUID(bytes=ids[16 * i : 16 * i + 16])),
                player,
                scored,
                now_us,
            )
            for i, (player, scored) in enumerate(
                zip(self.players[who].tolist(), points.tolist(), strict=True)
            )
        ]


def record(season_id: int, match_id: str, player: int, points: int, achieved_us: int) -> Record:
    """One record, achieved at this instant."""
    value = (
        f'{{"match_id":"{match_id}","player_id":{player},"season_id":{season_id},"points":{points},'
        f'"achieved_at":"{instant_text(achieved_us)}"}}'
    )
    return b"%d" % player, value.encode()
