"""Who comes into the best 100: a view without a state, whose frames are events.

Owns: which rises count, and what members get. A member without room misses the event: it is about a moment.
Neighbours: `board` tells who was touched, `around` views get their own player's rises.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from server.core import frames
from server.core.frames import Rise
from server.core.member_order import Int64s
from server.core.position import Position
from server.core.replica import Changes
from server.core.rows import Row
from server.core.topics import Topic
from server.core.wire import Frame
from server.core.wire import Sequence as FrameSequence
from server.live.around import Seen, Standing
from server.live.picture import Picture
from server.live.views import First, Scene, View

BEST = 100
_MOST = 20  # of a tick


class Was(NamedTuple):
    """What a player who was touched had then: points (-1: was not on the board), rank (0: none)."""

    points: int
    rank: int


Before = Mapping[int, Was]


class RankUpsView(View):
    """The topic `rankups` of a board."""

    __slots__ = ("_reason",)

    kind = "rankups"

    def __init__(self, topic: Topic) -> None:
        super().__init__(topic)
        self._reason = ""

    def first(self, have: Position | None) -> First:
        """Nothing: what has been is over."""
        return First(False, None)

    def position(self) -> None:
        """There is no state that has one."""

    def players(self) -> Iterable[int]:
        """Nobody's rows are shown."""
        return ()

    def replaced(self, reason: str) -> None:
        """Let members know that the board was replaced; no snapshot follows, since there is none."""
        self._reason = reason
        self.number += 1

    def frame_from(self, number: int) -> Frame:
        """The news that the board was replaced."""
        return frames.season(self.name, self.topic.board, self._reason)


def rise_of(player: int, was: Was | None, now: Standing) -> Rise | None:
    """The rise of a player whose own points rose and whose rank got better; None if it is none."""
    if was is None or now.rank == 0 or now.points <= was.points or (was.rank and now.rank >= was.rank):
        return None
    return Rise(player, now.points, was.rank or None, now.rank)


class Touched:
    """Who was touched since the last tick of each kind, and what they had before; only those of interest."""

    def __init__(self) -> None:
        self._top: dict[int, Was] = {}
        self._around: dict[int, Was] = {}
        self._listening = False

    def gather(self, picture: Picture, *, top: bool, around: Collection[int]) -> None:
        """Take the picture's changes, if anybody asks for rises: of the best 100, or of these players."""
        if not top and not around:
            self._listening = False
            return
        changes = picture.take_changes()
        if changes is None or not self._listening:  # of what was before nothing can be told
            self._top.clear()
            self._around.clear()
            self._listening = True
            return
        best = picture.index.slice(1, BEST)[0] if top else np.zeros(0, np.int64)
        self._keep(self._top, changes, best)
        self._keep(self._around, changes, np.fromiter(around, np.int64, len(around)))

    @staticmethod
    def _keep(into: dict[int, Was], changes: Changes, wanted: Int64s) -> None:
        chosen = np.isin(changes.players, wanted)
        columns = (column[chosen].tolist() for column in changes)
        for player, points, rank in zip(*columns, strict=True):
            into.setdefault(player, Was(points, rank))

    def take_top(self) -> Before:
        """Those of the best 100 since the last call."""
        taken, self._top = self._top, {}
        return taken

    def take_around(self, players: Iterable[int]) -> Before:
        """Those of these players, who have views of their own, since they were last asked for."""
        if not self._around:
            return {}
        return {player: self._around.pop(player) for player in set(players) & self._around.keys()}


def newcomers(rows: Sequence[Row], before: Before) -> list[Rise]:
    """Those who came into the best 100 from below, the best first and 20 of them at most."""
    rises: list[Rise] = []
    for rank, row in enumerate(rows[:BEST], 1):
        rise = rise_of(row.player, before.get(row.player), Standing(rank, row.points))
        if rise is not None and (rise.before is None or rise.before > BEST):
            rises.append(rise)
    return rises[:_MOST]


def rankups_frame(view: View, at: Scene | Seen, rises: Sequence[Rise]) -> Frame:
    """These rises as one write, in their order."""
    return FrameSequence([frames.rankup(view.name, at.epoch, at.version, rise) for rise in rises])
