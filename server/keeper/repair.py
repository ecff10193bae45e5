"""Players of a live board given PostgreSQL's scores while results keep coming, and never an old one.

Owns when a score may be written: PostgreSQL is read at or beyond the board's position, and what it says of a
player holds as long as the board stands between that position and PostgreSQL's, if he has the same at both:
points only rise, and at equal points the time moves one way, so he has it throughout. The script checks the
position again. Where the board runs away from that, it is held for a moment at the last.
Neighbours: `reconcile.py` names the players, `board/repairs.py` writes.
"""

from collections.abc import Sequence

import structlog
from redis.asyncio import Redis

from server.archive.cut import SeasonCut, Ways
from server.archive.store import Archive
from server.board.repairs import MOST, Repair, Standstill
from server.board.store import BoardStore
from server.core.codec import OutOfRange
from server.core.season import Season
from server.keeper.board_cut import BoardReader
from server.keeper.exact import CutImpossible, snapshot_beyond
from server.settings import Settings

log = structlog.get_logger(__name__)

FREE_TRIES = 3  # without a hold
HOLD_S = 2.0  # at most; it ends with the repair
HELD_WAIT_S = 1.5


def score_of(season: Season, points: int, achieved_us: int) -> int | None:
    """The score of a total; None where there is none (points -1), or none that the season can hold."""
    try:
        return season.codec.encode(points, achieved_us)
    except OutOfRange:
        return None


class Repairer:
    """Repairs single players of boards."""

    def __init__(self, settings: Settings, archive: Archive, boards: BoardStore, redis: Redis) -> None:
        self._settings = settings
        self._archive, self._boards = archive, boards
        self._reader = BoardReader(redis, settings.mirror_page)

    async def repair(
        self, season: Season, epoch: str, players: Sequence[int], aliens: Sequence[bytes]
    ) -> tuple[int, int]:
        """Put the players right on the board of this epoch, and take the aliens away.

        Returns how many were wrong and are right now, and how many are left: because the board was replaced,
        or PostgreSQL did not keep up with it.
        """
        repaired, left = 0, 0
        for first in range(0, len(players), MOST):
            part = players[first : first + MOST]
            changed, open_still = await self._insist(season, epoch, part, [])
            repaired, left = repaired + changed, left + open_still
        for first in range(0, len(aliens), MOST):
            changed, open_still = await self._insist(season, epoch, [], aliens[first : first + MOST])
            repaired, left = repaired + changed, left + open_still
        return repaired, left

    async def _insist(
        self, season: Season, epoch: str, players: Sequence[int], aliens: Sequence[bytes]
    ) -> tuple[int, int]:
        repaired, pending = 0, list(players)
        for tries in range(FREE_TRIES + 1):
            at = await self._standstill(season.season_id, hold=tries == FREE_TRIES)
            if at is None or at.epoch != epoch:
                break
            try:
                changed, pending = await self._once(season, at, pending, aliens)
            except CutImpossible as error:
                log.info("repair_waits", board=season.board, reason=str(error))
                continue
            if changed is not None:
                repaired, aliens = repaired + changed, []
                if not pending:
                    break
        return repaired, len(pending) + len(aliens)

    async def _standstill(self, season_id: int, *, hold: bool) -> Standstill | None:
        if hold:
            log.info("board_held", board=f"s{season_id}", seconds=HOLD_S)
            return await self._boards.repairs.hold(season_id, HOLD_S)
        return await self._reader.standing(season_id)

    async def _once(
        self, season: Season, at: Standstill, players: Sequence[int], aliens: Sequence[bytes]
    ) -> tuple[int | None, list[int]]:
        """One try: how many were wrong (None: the board moved on), and who has to be looked at again."""
        wait_s = HELD_WAIT_S if at.hold else self._settings.cut_wait_s
        async with snapshot_beyond(self._archive, season.season_id, at.applied, wait_s) as sql:
            ways = {way.player: way for way in await sql.look_up(at.applied.offsets, players)}
        scores, unsteady = self._scores(season, ways, players, steady_only=not at.hold)
        last = at.applied.offsets if at.hold else _last(at, sql)
        repair = Repair(scores, at.applied, last, aliens)
        changed = await self._boards.repairs.repair(season.season_id, at, repair)
        return changed, list(players) if changed is None else unsteady

    def _scores(
        self, season: Season, ways: dict[int, Ways], players: Sequence[int], *, steady_only: bool
    ) -> tuple[dict[int, int | None], list[int]]:
        """The players' scores, and those of whom there is none to write: results come at this very moment."""
        scores: dict[int, int | None] = {}
        unsteady = []
        for player in players:
            way = ways.get(player)
            score = None if way is None else score_of(season, way.board_points, way.board_at)
            moving = way is not None and way[1:3] != way[3:5]
            unfit = way is not None and way.board_points >= 0 and score is None
            if unfit or (moving and steady_only):
                unsteady.append(player)
            else:
                scores[player] = score
        return scores, unsteady


def _last(at: Standstill, sql: SeasonCut) -> dict[int, int]:
    return {partition: sql.offsets.get(partition, 0) for partition in at.applied.offsets}
