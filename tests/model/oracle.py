"""What a board must be, in plain Python: the log's records by the rules, without the server's code for it.

Owns: which records count (of one match and player the first position; none that was lost with its log before
PostgreSQL read it; none from before a reset), and what they sum up to.
Never does: read Redis. Neighbour: `world.py` notes every record here and compares at the end.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from server.core.results import Result
from server.core.season import Season

Rows = dict[tuple[str, int], tuple[int, int, int, int, int]]
"""(match, player) → points, achieved_at in microseconds, log, partition, offset."""


class Place(NamedTuple):
    """A position in a log."""

    log: int
    partition: int
    offset: int


@dataclass
class Oracle:
    """All records that were ever appended, in order."""

    records: list[tuple[Place, Result]] = field(default_factory=list)

    def rows(self, season: Season, left: dict[tuple[int, int], int], resets: list[Place]) -> Rows:
        """The rows of a season; `left`: (log, partition) → where it was left; `resets`: where they fell."""
        rows: Rows = {}
        for place, result in self.records:
            if result.season_id != season.season_id or result.points > season.codec.max_points:
                continue
            if place.offset >= left.get((place.log, place.partition), 1 << 60):
                continue
            if any(
                place.log < reset.log
                or ((place.log, place.partition) == reset[:2] and place.offset < reset.offset)
                for reset in resets
            ):
                continue
            rows.setdefault((result.match_id, result.player_id), (result.points, result.achieved_us, *place))
        return rows


def standings(season: Season, rows: Rows) -> list[tuple[int, int, int]]:
    """(player, points, tick) from rank 1 on."""
    best: dict[int, tuple[int, int]] = {}
    for (_, player), (points, achieved_us, *_) in rows.items():
        tick = (achieved_us - season.starts_us) // season.tick_us
        if season.operator == "best":
            best[player] = max(best.get(player, (points, -tick)), (points, -tick))
        else:
            total, newest = best.get(player, (0, 0))
            best[player] = (total + points, min(newest, -tick) if points else newest)
    found = [
        (player, min(points, season.codec.max_points), -minus) for player, (points, minus) in best.items()
    ]
    return sorted(found, key=lambda each: (each[1], -each[2], str(each[0]).encode()), reverse=True)
