"""Single players of a live board put right, and the hold that lets the board stand still for it.

Owns the calls of `repair.lua` and `hold.lua`. Never decides what a player's score is, or that the board is
wrong: `keeper/repair.py` brings PostgreSQL's word, and the positions in the log between which it counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from server.board.keys import BoardKeys
from server.board.position import Applied, new_epoch, text
from server.board.scripts import Argument, Script, Scripts
from server.settings import Settings

MOST = 100
"""Players in one call: some milliseconds of Redis on the largest board."""


@dataclass(frozen=True, slots=True)
class Standstill:
    """Where a board stands: its epoch and position, and the name of the hold that keeps it there, if any."""

    epoch: str
    applied: Applied
    hold: str = ""


@dataclass(frozen=True, slots=True)
class Repair:
    """Scores of players (None: not on the board) that count while `applied` lies within `first` … `last`.

    `aliens` are members that are no players: they go.
    """

    scores: Mapping[int, int | None]
    first: Applied
    last: Mapping[int, int]
    aliens: Sequence[bytes] = ()


class Repairs:
    """What reconcile does to Redis."""

    def __init__(self, scripts: Scripts, settings: Settings) -> None:
        self._scripts = scripts
        self._settings = settings
        self._hold = Script.load("hold")
        self._repair = Script.load("repair")

    async def hold(self, season_id: int, seconds: float) -> Standstill | None:
        """Let the board take nothing for so long, or until a repair names this hold; None: it cannot be."""
        keys = BoardKeys(season_id)
        reply = await self._scripts.run(self._hold, [keys.meta, keys.applied], [round(seconds * 1000)])
        name, epoch, fields = text(reply[0]), text(reply[1]), reply[2]
        applied = Applied.parse(dict(zip(fields[::2], fields[1::2], strict=True)))
        return Standstill(epoch, applied, name) if name and applied is not None else None

    async def repair(self, season_id: int, at: Standstill, repair: Repair) -> int | None:
        """Put scores right and end the hold; how many were wrong. None: the board stands elsewhere by now."""
        keys, log_length = BoardKeys(season_id), self._settings.log_length
        offsets = repair.first.offsets
        window = [(partition, first, repair.last[partition]) for partition, first in offsets.items()]
        scores = [(player, "" if score is None else score) for player, score in repair.scores.items()]
        args: list[Argument] = [keys.events, at.epoch, new_epoch(), log_length, repair.first.log, at.hold]
        args += [len(window), *chain.from_iterable(window)]
        args += [len(scores), *chain.from_iterable(scores), *repair.aliens]
        kind, _epoch, _version, changed = await self._scripts.run(self._repair, keys.board, args)
        return int(changed) if text(kind) == "done" else None
