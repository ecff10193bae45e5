"""What must be true of boards: throughout a schedule, and at its end.

Owns: no position names two boards; events lead from one position to the next, with ranks; at the end the
board, the totals, the rows summed up by SQL and the oracle are one. Neighbours: `world.py` asks after each
step, `oracle.py` says what records come to.
"""

from collections.abc import Callable

import orjson

from tests.model.log import PARTITIONS
from tests.model.oracle import Oracle, Place, Rows, standings
from tests.model.services import Services

TRUTH_SQL = """
WITH r AS (
    SELECT r.*, s.operator, s.points_bits,
        floor(extract(epoch FROM r.achieved_at - s.starts_at) / 900)::int AS tick
    FROM match_results r JOIN seasons s USING (season_id)
), summed AS (
    SELECT season_id, player_id,
        CASE operator WHEN 'best' THEN max(points)
            ELSE least(sum(points), (1 << points_bits) - 1) END AS points,
        CASE operator WHEN 'best' THEN (array_agg(tick ORDER BY points DESC, tick))[1]
            ELSE coalesce(max(tick) FILTER (WHERE points > 0), 0) END AS tick
    FROM r GROUP BY season_id, player_id, operator, points_bits
)
SELECT json_build_object(
    'history', (SELECT json_agg(json_build_array(season_id, log_id, log_partition, next_offset))
        FROM machine.history),
    'rows', (SELECT json_object_agg(n, (SELECT json_agg(json_build_array(match_id, player_id, points,
            (extract(epoch FROM achieved_at) * 1000000)::bigint, log_id, log_partition, log_offset))
        FROM match_results WHERE season_id = n)) FROM generate_series(1, 2) n),
    'summed', (SELECT json_object_agg(n, (SELECT json_agg(json_build_array(player_id, points, tick)
            ORDER BY points DESC, tick, player_id::text COLLATE "C" DESC)
        FROM summed WHERE season_id = n)) FROM generate_series(1, 2) n),
    'totals', (SELECT json_object_agg(n, (SELECT json_agg(json_build_array(player_id, points,
            (extract(epoch FROM achieved_at - s.starts_at) / 900)::int)
            ORDER BY points DESC, achieved_at, player_id::text COLLATE "C" DESC)
        FROM player_totals JOIN seasons s USING (season_id) WHERE season_id = n))
        FROM generate_series(1, 2) n))
"""

Board = list[tuple[int, int]]
"""(player, score) from rank 1 on."""


class Wrong(Exception):  # noqa: N818  reads as the sentence it is
    """Something that must never be was seen."""


class Truth:
    """What was seen of the boards of one schedule."""

    def __init__(self, services: Services, oracle: Oracle, say: Callable[[str], None]) -> None:
        self._on = services
        self._oracle = oracle
        self._say = say
        self._seen: dict[tuple[int, str, int], Board] = {}
        self._known: dict[int, tuple[str, int]] = {}
        self._boards: dict[int, Board] = {}
        self._damaged: set[tuple[int, str]] = set()

    def damage(self, season_id: int) -> None:
        """A key of the live board was taken away: until its next epoch it need not be what it was."""
        self._damaged.add((season_id, self._known.get(season_id, ("", 0))[0]))

    async def observe(self, seconds: int = 1) -> None:
        """No position names two boards, and the events between two positions lead from one to the other."""
        seasons = [season.season_id for season in self._on.seasons]
        seen = await self._on.observe(
            [(season_id, *self._known.get(season_id, ("", 0))) for season_id in seasons], seconds
        )
        for season_id, (epoch, version, members, events) in zip(seasons, seen, strict=True):
            pairs = zip(members[::2], members[1::2], strict=True)
            board = self._boards[season_id] = [(int(player), int(float(score))) for player, score in pairs]
            if epoch is None or version is None:
                self._known.pop(season_id, None)
                continue
            position = epoch.decode(), int(version)
            if (season_id, position[0]) in self._damaged:
                self._known.pop(season_id, None)
                continue
            before = self._known.get(season_id)
            if self._seen.setdefault((season_id, *position), board) != board:
                raise Wrong(
                    f"board {season_id} at {position} was {self._seen[season_id, *position]} and is {board}"
                )
            if before is not None and before[0] == position[0] and before[1] < position[1]:
                self._replay(season_id, before, position, events)
            if before != position:
                self._say(f"    board {season_id} {position}: {board}")
            self._known[season_id] = position

    def _replay(
        self, season_id: int, before: tuple[str, int], after: tuple[str, int], events: list[bytes]
    ) -> None:
        """Apply the events from one position to another; each row tells the ranks before and after it."""
        scores = dict(self._seen[season_id, *before])
        parsed = [orjson.loads(event) for event in reversed(events)]
        if [(event["epoch"], event["version"]) for event in parsed] != [
            (after[0], version) for version in range(before[1] + 1, after[1] + 1)
        ]:
            raise Wrong(f"board {season_id}: the events from {before} to {after} are {parsed}")
        for event in parsed:
            for player, score, rank_before, rank_after in event["rows"]:
                told = _rank(scores, player)
                scores[player] = score
                if (told, _rank(scores, player)) != (rank_before, rank_after):
                    raise Wrong(
                        f"board {season_id}: {event} tells other ranks than {told}, {_rank(scores, player)}"
                    )
        if scores != dict(self._seen[season_id, *after]):
            raise Wrong(f"board {season_id}: events lead to {scores} at {after}")

    async def compare(self) -> None:
        """The board, PostgreSQL's totals, its rows summed up by SQL, and the oracle are one."""
        told = orjson.loads(await self._on.sql.fetchval(TRUTH_SQL))
        left = {
            (number, partition): 0
            for number in range(1, self._on.topic.number)
            for partition in range(PARTITIONS)
        }
        resets: dict[int, list[Place]] = {}
        for season_id, *place in told["history"] or []:
            if season_id is None:
                left[place[0], place[1]] = place[2]
            else:
                resets.setdefault(season_id, []).append(Place(*place))
        for season in self._on.seasons:
            here, number = f"season {season.season_id}: ", str(season.season_id)
            wanted = self._oracle.rows(season, left, resets.get(season.season_id, []))
            rows = {(match, player): tuple(rest) for match, player, *rest in told["rows"][number] or []}
            if rows != wanted:
                raise Wrong(f"{here}rows {_differences(rows, wanted)}")
            order = standings(season, wanted)
            in_sql = [tuple(each) for each in told["summed"][number] or []]
            totals = [tuple(each) for each in told["totals"][number] or []]
            if not order == in_sql == totals:
                raise Wrong(f"{here}oracle {order}, SQL {in_sql}, totals {totals}")
            scores = [
                (player, (points << season.time_bits) + (1 << season.time_bits) - 1 - tick)
                for player, points, tick in order
            ]
            if self._boards[season.season_id] != scores:
                raise Wrong(f"{here}board {self._boards[season.season_id]}, oracle {scores} {order}")


def _rank(scores: dict[int, int], player: int) -> int | None:
    if player not in scores:
        return None
    order = sorted(scores, key=lambda each: (scores[each], str(each).encode()), reverse=True)
    return order.index(player) + 1


def _differences(found: Rows, wanted: Rows) -> str:
    return "; ".join(
        f"{key}: {found.get(key)} instead of {wanted.get(key)}"
        for key in sorted(found.keys() | wanted.keys())
        if found.get(key) != wanted.get(key)
    )
