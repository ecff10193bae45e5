"""A live board compared with PostgreSQL, player by player, and what differs put right.

Owns a round: counts, then the board at one instant (`exact.py`) against the stream of all totals. A player
who differs is looked up by his rows, which tell what he had when the board was at its position: who only
waits for a result that PostgreSQL has read already is no difference. Memory: as an audit's, and 24 bytes a
difference. Never reads all rows: `audit.py` does.
Neighbours: `repair.py` writes, the keeper's clock and the command call.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog
from redis.asyncio import Redis

from server.archive.cut import Ways
from server.archive.store import Archive
from server.board.store import BoardStore
from server.core.comparison import Comparison, Differences
from server.core.member_order import Int64s
from server.core.refusals import Refusal
from server.core.results import player_id_from_text
from server.core.season import Season
from server.errors import RankcastError
from server.keeper.board_cut import BoardCut, BoardReader
from server.keeper.exact import CutImpossible, ExactCut, exact_cut
from server.keeper.findings import EXAMPLES, Findings
from server.keeper.repair import Repairer, score_of
from server.metrics import Metrics
from server.settings import Settings

log = structlog.get_logger(__name__)

ATTEMPTS = 3
LOOKED_UP_AT_ONCE = 1000
MOST_REPAIRS = 100_000
"""Players that a round repairs at most: where more differ, a rebuild is due."""


MOST_NAMED = 10_000
"""Differences that a round names; what is beyond is counted."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far a round is. `counts` are the players of Redis and of SQL, as counted before all else."""

    counts: tuple[int, int]
    players: int = 0


OnStep = Callable[[Step], None]


@dataclass(slots=True)
class Round:
    """What a round found. `left`: differences that stand still; `in_flight`: who only waited for a result."""

    season_id: int
    epoch: str
    version: int
    players: int
    findings: Findings
    in_flight: int = 0
    repaired: int = 0
    left: int = 0
    seconds: float = 0.0
    wrong: dict[int, None] = field(default_factory=dict)  # whose score on the board is wrong, in order
    wrong_totals: list[int] = field(default_factory=list)
    aliens: list[bytes] = field(default_factory=list)

    @property
    def found(self) -> int:
        """How many differences there were."""
        return self.findings.counts.total()


class Reconciler:
    """Compares boards with PostgreSQL, and repairs them."""

    def __init__(
        self, settings: Settings, metrics: Metrics, archive: Archive, boards: BoardStore, redis: Redis
    ) -> None:
        self._settings, self._metrics = settings, metrics
        self._archive, self._boards = archive, boards
        self._reader = BoardReader(redis, settings.mirror_page)
        self._repairer = Repairer(settings, archive, boards, redis)

    async def reconcile(
        self, season_id: int, *, repair: bool, mend_totals: bool = True, on_step: OnStep = lambda _: None
    ) -> Round:
        """Compare the season's board with PostgreSQL; with `repair` put right what differs.

        Where rows do not add up to a total, one of both was lost or changed: without `mend_totals` those
        players are left to a person, with it the rows count.

        Raises `NoBoard`, `CutImpossible`, RankcastError for an unknown season, and what the services raise
        when they are away.
        """
        season = await self._archive.season(season_id)
        if season is None:
            raise RankcastError("unknown_season", f"there is no season {season_id}; create it first")
        for _ in range(ATTEMPTS):
            began = time.monotonic()
            found = await self._compare(season, on_step)
            if found is not None:
                if repair and found.found:
                    await self._mend(season, found, mend_totals=mend_totals)
                found.seconds = time.monotonic() - began
                self._tell(season, found)
                return found
        raise CutImpossible(f"board {season.board} was replaced in each of {ATTEMPTS} rounds; try again")

    async def _compare(self, season: Season, on_step: OnStep) -> Round | None:
        """One comparison; None where its differences may be those of a board that was replaced meanwhile."""
        counts = await self._boards.count(season.season_id), await self._archive.count(season.season_id)
        on_step(Step(counts))
        log.info("reconcile_counted", board=season.board, players=counts[0], sql_players=counts[1])
        async with exact_cut(self._reader, self._archive, season.season_id, self._settings.cut_wait_s) as cut:
            comparison = Comparison(cut.board.index)
            await cut.sql.totals(_taker(season, comparison, lambda players: on_step(Step(counts, players))))
            found = _round(season, cut.board)
            await _look_up(cut, comparison.differences(), found)
        position = await self._boards.position(season.season_id)
        replaced = position is None or position[0] != found.epoch
        found.left = found.found
        return None if replaced and found.found else found

    async def _mend(self, season: Season, found: Round, *, mend_totals: bool) -> None:
        if found.found > MOST_REPAIRS:
            log.error("too_many_differences", board=season.board, differences=found.found, most=MOST_REPAIRS)
            return
        doubtful = set() if mend_totals else set(found.wrong_totals)
        mended = await self._mend_totals(season, found.wrong_totals) if mend_totals else 0
        players = [player for player in found.wrong if player not in doubtful]
        changed, left = await self._repairer.repair(season, found.epoch, players, found.aliens)
        found.repaired = changed + mended
        found.left = left + len(doubtful) + len(found.wrong) - len(players)

    async def _mend_totals(self, season: Season, players: list[int]) -> int:
        mended = 0
        for first in range(0, len(players), LOOKED_UP_AT_ONCE):
            part = players[first : first + LOOKED_UP_AT_ONCE]
            mended += await self._archive.mend_totals(season.season_id, part)
        return mended

    def _tell(self, season: Season, found: Round) -> None:
        tell = log.warning if found.found else log.info
        tell(
            "reconcile_done",
            board=season.board,
            epoch=found.epoch,
            version=found.version,
            players=found.players,
            differences=dict(found.findings.counts),
            repaired=found.repaired,
            left=found.left,
            in_flight=found.in_flight,
            seconds=round(found.seconds, 3),
        )
        for example in found.findings.examples[:EXAMPLES]:
            log.warning("reconcile_difference", board=season.board, epoch=found.epoch, what=example)
        gauges, board = self._metrics, season.board
        gauges.reconciles.labels(
            "equal" if not found.found else "repaired" if not found.left else "left"
        ).inc()
        gauges.reconcile_players.labels(board).set(found.players)
        gauges.reconcile_seconds.labels(board).set(found.seconds)
        gauges.reconcile_repaired.labels(board).inc(found.repaired)
        gauges.reconcile_left.labels(board).set(found.left)
        for kind, count in found.findings.counts.items():
            gauges.reconcile_differences.labels(board, kind).inc(count)
        ended = time.monotonic()
        gauges.reconcile_age.labels(board).set_function(lambda: time.monotonic() - ended)


def _taker(
    season: Season, comparison: Comparison, on_players: Callable[[int], None]
) -> Callable[[Int64s], None]:
    """What takes the stream of totals, int64[n, 3] of player, points, time."""
    codec = season.codec

    def take(totals: Int64s) -> None:
        ticks = (totals[:, 2] - codec.starts_us) // codec.tick_us
        comparison.take(totals[:, 0], totals[:, 1] << codec.time_bits | codec.max_ticks - ticks)
        on_players(comparison.streamed)

    return take


def _round(season: Season, board: BoardCut) -> Round:
    found = Round(
        season.season_id, board.epoch, board.version, board.index.total, Findings(season, most=MOST_NAMED)
    )
    for alien in board.aliens:
        found.findings.add_alien(alien)
        player = player_id_from_text(alien.member)
        if isinstance(player, Refusal):
            found.aliens.append(alien.raw)
        else:  # whose score is none
            found.wrong[player] = None
    return found


async def _look_up(cut: ExactCut, differences: Differences, found: Round) -> None:
    """Sort players whose total is not what the board has: by what their rows made at the board's position."""
    applied = cut.board.applied.offsets
    for first in range(0, len(differences.players), LOOKED_UP_AT_ONCE):
        part = slice(first, first + LOOKED_UP_AT_ONCE)
        players: list[int] = differences.players[part].tolist()
        ways = {way.player: way for way in await cut.sql.look_up(applied, players)}
        for player, held in zip(players, differences.held[part].tolist(), strict=True):
            _sort(cut.sql.season, player, held, ways.get(player), found)


def _sort(season: Season, player: int, held: int, way: Ways | None, found: Round) -> None:
    total_is_wrong = way is not None and way[3:5] != way[5:7]
    if way is not None and total_is_wrong:
        found.findings.add_total(player, (way.row_points, way.row_at), (way.total_points, way.total_at))
        found.wrong_totals.append(player)
    score = None if way is None else score_of(season, way.board_points, way.board_at)
    if held != (-1 if score is None else score):
        found.findings.add_score(player, held, -1 if score is None else score)
        found.wrong[player] = None
    elif not total_is_wrong:
        found.in_flight += 1
