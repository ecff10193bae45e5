"""Both sides of a season at one position in the log: the board of Redis, and PostgreSQL not before it.

Owns the order that makes the comparison exact without stopping anybody: first the board is read, as of its
`applied`; then PostgreSQL is waited for, until its snapshot stands at or beyond `applied` on every partition.
What lies beyond is left out by the rows' own offsets (`archive/cut.py`).
Neighbours: `audit.py` and `reconcile.py` compare the sides.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from server.archive.cut import SeasonCut
from server.archive.store import Archive
from server.board.position import Applied
from server.keeper.board_cut import BoardCut, BoardReader

LOOK_EVERY_S = 0.05


class CutImpossible(RuntimeError):  # noqa: N818  reads as the sentence it is
    """The two sides cannot be compared now; the text says what they wait for."""


@dataclass(frozen=True, slots=True)
class ExactCut:
    """The board as of `board.applied`, and PostgreSQL at or beyond it."""

    board: BoardCut
    sql: SeasonCut


@asynccontextmanager
async def exact_cut(
    reader: BoardReader, archive: Archive, season_id: int, wait_s: float
) -> AsyncIterator[ExactCut]:
    """Take a cut; PostgreSQL's side is good within the `async with`.

    Raises `NoBoard`, `CutImpossible` where PostgreSQL reads another log or does not get as far within
    `wait_s` seconds, RankcastError for an unknown season, and what the services raise when they are away.
    """
    board = await reader.cut(season_id)
    async with snapshot_beyond(archive, season_id, board.applied, wait_s) as sql:
        yield ExactCut(board, sql)


@asynccontextmanager
async def snapshot_beyond(
    archive: Archive, season_id: int, applied: Applied, wait_s: float
) -> AsyncIterator[SeasonCut]:
    """PostgreSQL in a snapshot that has read the log up to `applied` at least, on every partition."""
    deadline = time.monotonic() + wait_s
    while True:
        async with archive.cut(season_id) as sql:
            behind = what_is_missing(sql, applied)
            if behind is None:
                yield sql
                return
        if time.monotonic() > deadline:
            raise CutImpossible(f"season {season_id}: {behind}")
        await asyncio.sleep(LOOK_EVERY_S)


def what_is_missing(sql: SeasonCut, applied: Applied) -> str | None:
    """What PostgreSQL has not read of what the board has, in a sentence; None: nothing."""
    if sql.log != applied.log:
        return (
            f"the board is of log {applied.log}, PostgreSQL reads log {sql.log or '(none yet)'}; "
            "persist has to run and the board to be rebuilt (the keeper does)"
        )
    for partition, offset in sorted(applied.offsets.items()):
        read = sql.offsets.get(partition, 0)
        if read < offset:
            return (
                f"PostgreSQL has read partition {partition} up to {read}, the board up to {offset}; "
                "let persist run"
            )
    return None
