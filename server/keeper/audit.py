"""Rows, totals and board of one season held against each other at one position in the log: every one.

Owns what an audit compares and what it concludes. It stops nobody, changes nothing but the table `audits`,
and reads every row of the season once. Both sides make the board's text by themselves (`core/board_text.py`):
one out of Redis, in this package's order, one out of PostgreSQL's rows, in PostgreSQL's.
Memory: some 30 bytes a player when Redis has been read, 70 while it is sorted. Neighbours: `exact.py` takes
the cut, `commands/audit.py` and the keeper's clock call it.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import structlog
from redis.asyncio import Redis

from server.archive.audits import AuditRecord
from server.archive.cut import Fingerprint
from server.archive.store import Archive
from server.board.store import BoardStore
from server.core.board_text import BoardHash
from server.core.comparison import Comparison
from server.core.instants import instant_text
from server.core.member_order import Int64s
from server.core.season import Season
from server.errors import RankcastError
from server.keeper.board_cut import BoardCut, BoardReader
from server.keeper.exact import CutImpossible, ExactCut, exact_cut
from server.keeper.findings import Findings
from server.metrics import Metrics
from server.settings import Settings

log = structlog.get_logger(__name__)

ATTEMPTS = 3
_HASHED_AT_ONCE = 2000  # players: a millisecond or two


class Step(NamedTuple):
    """How far an audit is: players compared of `of`; 0 while the board is being read."""

    players: int
    of: int


OnStep = Callable[[Step], None]


class Auditor:
    """Audits seasons, one at a time each."""

    def __init__(
        self, settings: Settings, metrics: Metrics, archive: Archive, boards: BoardStore, redis: Redis
    ) -> None:
        self._settings, self._metrics = settings, metrics
        self._archive, self._boards = archive, boards
        self._reader = BoardReader(redis, settings.mirror_page)

    async def audit(self, season_id: int, on_step: OnStep = lambda _: None) -> AuditRecord:
        """Audit the season's board, and keep what was found in PostgreSQL.

        Raises `NoBoard`, `CutImpossible`, RankcastError for an unknown season, and what the services raise
        when they are away: then nothing was found, and nothing is kept.
        """
        if await self._archive.season(season_id) is None:
            raise RankcastError("unknown_season", f"there is no season {season_id}; create it first")
        for _ in range(ATTEMPTS):
            record = await self._once(season_id, on_step)
            if record is not None:
                await self._archive.save_audit(record)
                self._tell(record)
                return record
        raise CutImpossible(f"board s{season_id} was replaced in each of {ATTEMPTS} audits; try again")

    async def _once(self, season_id: int, on_step: OnStep) -> AuditRecord | None:
        """One audit; None where its differences may be those of a board that was replaced meanwhile."""
        began = time.monotonic()
        on_step(Step(0, 0))
        async with exact_cut(self._reader, self._archive, season_id, self._settings.cut_wait_s) as cut:
            record = await compare(cut, began, on_step)
        position = await self._boards.position(season_id)
        replaced = position is None or position[0] != record.epoch
        return None if replaced and not record.equal else record

    def _tell(self, record: AuditRecord) -> None:
        board = f"s{record.season_id}"
        tell = log.info if record.equal else log.error
        tell(
            "audit_done",
            board=board,
            equal=record.equal,
            epoch=record.epoch,
            version=record.version,
            players=record.players,
            results=record.results,
            differences=record.differences,
            sha256=record.sha256_board,
            seconds=round(record.seconds, 3),
        )
        for example in record.examples:
            log.error("audit_difference", board=board, epoch=record.epoch, what=example)
        self._metrics.audits.labels("equal" if record.equal else "different").inc()


async def compare(cut: ExactCut, began: float, on_step: OnStep) -> AuditRecord:
    """Hold all three against each other; `began` (monotonic) is when the audit did."""
    board, season = cut.board, cut.sql.season
    sides = _Sides(board, season, on_step)
    await cut.sql.in_order(board.applied.offsets, sides.take)
    findings = sides.conclude()
    results, seen = await _rows(cut, findings)
    return AuditRecord(
        season.season_id,
        board.epoch,
        board.version,
        board.applied.log,
        dict(board.applied.offsets),
        board.index.total,
        results,
        sides.board_hash,
        sides.sql_hash.hexdigest(),
        dict(findings.counts),
        findings.examples,
        time.monotonic() - began,
        seen.rows,
        seen.hash,
    )


async def _rows(cut: ExactCut, findings: Findings) -> tuple[int, Fingerprint]:
    """How many rows there are, and the fingerprint of those below the position.

    Those that the last audit saw have to be the same still: else a row that decides no total goes unnoticed.
    """
    here = (cut.board.applied.log, cut.board.applied.offsets)
    last = await cut.sql.last_audit()
    if last is None or last.record.rows_below is None or last.record.fingerprint is None:
        results, (seen,) = await cut.sql.fingerprints(here)
        return results, seen
    then = (last.record.log_id, last.record.applied)
    results, (seen, again) = await cut.sql.fingerprints(here, then)
    if again != (last.record.rows_below, last.record.fingerprint):
        when = instant_text(last.finished_us // 1_000_000 * 1_000_000)
        findings.add(
            "row",
            f"of {last.record.rows_below} rows that the audit of {when} saw {again.rows} are there"
            + ("" if again.rows != last.record.rows_below else ", and not all are what they were"),
        )
    return results, seen


class _Sides:
    """Takes SQL's side as it comes, and holds it against the board's."""

    def __init__(self, board: BoardCut, season: Season, on_step: OnStep) -> None:
        self._board, self._season, self._on_step = board, season, on_step
        self._comparison = Comparison(board.index)
        self._findings = Findings(season)
        self.sql_hash = BoardHash()
        self._held_hash = BoardHash()
        self.board_hash = ""

    def take(self, ways: Int64s) -> None:
        """Take the next players, int64[n, 7] as `Ways`, by the order at the cut."""
        on_board = ways[ways[:, 1] >= 0]
        players, points, at = on_board[:, 0], on_board[:, 1], on_board[:, 2]
        codec = self._season.codec
        scores = points << codec.time_bits | codec.max_ticks - (at - codec.starts_us) // codec.tick_us
        self._comparison.take(players, scores, in_order=True)
        self.sql_hash.add(players, points, at // 1000)
        self._hash_board(len(players))
        wrong = (ways[:, 3] != ways[:, 5]) | (ways[:, 3] >= 0) & (ways[:, 4] != ways[:, 6])
        for way in ways[wrong].tolist():
            self._findings.add_total(way[0], (way[3], way[4]), (way[5], way[6]))
        self._on_step(Step(self._comparison.streamed, self._board.index.total))

    def _hash_board(self, count: int) -> None:
        """Add the board's next players to its hash, hand in hand with SQL's."""
        if self._held_hash.players < self._board.index.total and count:
            players, scores = self._board.index.slice(self._held_hash.players + 1, count)
            points, achieved_ms = self._season.codec.decode_many(scores)
            self._held_hash.add(players, points, achieved_ms)

    def conclude(self) -> Findings:
        """All that differs, once SQL's side has been taken whole."""
        while self._held_hash.players < self._board.index.total:
            self._hash_board(_HASHED_AT_ONCE)
        self.board_hash = self._held_hash.hexdigest()
        found, differences = self._findings, self._comparison.differences()
        for player, held, streamed in zip(*(column.tolist() for column in differences), strict=True):
            found.add_score(player, held, streamed)
        for alien in self._board.aliens:
            found.add_alien(alien)
        for player in self._comparison.misplaced:
            found.add("order", f"player {player} stands before an equal row that PostgreSQL has before him")
        self._check_ranks()
        if not found.counts and self.board_hash != self.sql_hash.hexdigest():
            found.add("hash", f"Redis {self.board_hash}, SQL {self.sql_hash.hexdigest()}")
        return found

    def _check_ranks(self) -> None:
        """Redis's own word on some ranks, given at the cut."""
        ranks, index = self._board.ranks, self._board.index
        if self._board.aliens:
            return  # they take ranks of their own
        players = np.array(list(ranks), np.int64)
        told = np.array(list(ranks.values()), np.int64)
        computed = index.ranks(players)
        for at in np.flatnonzero(told != computed).tolist():
            self._findings.add(
                "rank", f"player {players[at]}: Redis tells {told[at]}, the order {computed[at]}"
            )
