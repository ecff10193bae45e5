"""The rows around a player: many thousand views of a board, looked at together.

Owns: `AroundView`, and `look_around`, which finds the ranks and windows of many views by vectorised search
and does work in Python for those alone that changed.
Never does: keep rows as Python objects: a window is held as the bytes of its players and scores.
Neighbours: `board` calls it in slices, `core/order` has the search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from server.core import frames
from server.core.codec import ScoreCodec
from server.core.frames import Head
from server.core.member_order import Int64s
from server.core.position import Position
from server.core.rows import Row
from server.core.topics import Around, Topic
from server.core.wire import Frame
from server.core.wire import Sequence as FrameSequence
from server.live.names import Names
from server.live.picture import Picture
from server.live.viewer import Viewer
from server.live.views import EXTRA_EVERY_S, First, Sent, View


class AroundView(View):
    """One player's neighbourhood. Every frame but the short form is whole, so that little has to be kept."""

    __slots__ = (
        "_begun",
        "_codec",
        "_extra_at",
        "_latest",
        "_names",
        "_names_at",
        "_reason",
        "_versions",
        "epoch",
        "first_rank",
        "player",
        "radius",
        "total",
        "version",
        "window",
    )

    kind = "around"

    def __init__(self, topic: Topic, view: Around, codec: ScoreCodec, names: Names) -> None:
        super().__init__(topic)
        self.player = view.player
        self.radius = view.radius
        self.epoch: str | None = None
        self.version = 0
        self.total = 0
        self.first_rank = 0  # of the first row; 0: the player is not ranked
        self.window = b""  # players, then scores, as in `Windows`
        self._codec = codec
        self._names = names
        self._names_at = 0
        self._begun = 0  # the number with which the epoch began
        self._versions: list[int] = []  # that were shown with these rows, the newest last
        self._extra_at = float("-inf")
        self._reason = "replaced"
        self._latest: Frame | None = None

    def position(self) -> tuple[str | None, int]:
        """Epoch and version of the rows shown now."""
        return self.epoch, self.version

    # -- looking

    def refresh(self, seen: Seen, window: bytes, first_rank: int, keep: int) -> bool:
        """Show what was seen, if it differs; True: members are owed a frame."""
        replaced = self.number == 0 or seen.epoch != self.epoch or seen.version < self.version
        moved = replaced or window != self.window
        if not moved and first_rank == self.first_rank:
            late = self._late_names()
            if seen.total == self.total and not late:
                return False
            if seen.now < self._extra_at + EXTRA_EVERY_S:
                seen.again_at = min(seen.again_at, self._extra_at + EXTRA_EVERY_S)
                return False
            self._extra_at = seen.now
        before = self.players() if moved and not replaced else ()
        self.number += 1
        self.epoch, self.version, self.total = seen.epoch, seen.version, seen.total
        self.window, self.first_rank = window, first_rank
        if replaced:
            self._begun, self._reason = self.number, seen.reason
        self._versions = [seen.version] if moved else [*self._versions, seen.version][-keep - 1 :]
        self._latest = self._frame(self._rows(), known=before) if moved else self._short()
        self._names_at = self._names.mark
        return True

    def _late_names(self) -> list[int]:
        if self._names.mark == self._names_at:
            return []
        return [player for player in self.players() if self._names.changed_at(player) > self._names_at]

    def players(self) -> Iterable[int]:
        """The players of the rows shown now."""
        players: list[int] = self._rows_array()[0].tolist()
        return players

    def _rows_array(self) -> Int64s:
        """Players and scores, two rows, of the window without what is beyond the board's end."""
        cells = np.frombuffer(self.window, np.int64).reshape(2, 2 * self.radius + 1)
        return cells[:, cells[1] >= 0]

    def _rows(self) -> list[Row]:
        players, scores = self._rows_array()
        points, achieved = self._codec.decode_many(scores)
        return list(map(Row, players.tolist(), points.tolist(), achieved.tolist()))

    # -- frames

    def first(self, have: Position | None) -> First:
        """The short form for who knows these rows, else all of them."""
        if have is not None and have.epoch == self.epoch and have.version in self._versions:
            return First(True, self._short())
        return First(False, self._whole())

    def frame_from(self, number: int) -> Frame:
        """The newest frame for who has the one before, else all rows."""
        if number < self._begun:
            news = frames.season(self.name, self.topic.board, self._reason)
            return FrameSequence([news, self._whole()])
        if number == self.number - 1 and self._latest is not None:
            return self._latest
        return self._whole()

    def push_to(self, members: Iterable[Viewer], now: float) -> Sent:
        """Hand members what they are owed, and keep no frame for who cannot take it now."""
        sent = super().push_to(members, now)
        self._latest = None
        return sent

    def _whole(self) -> Frame:
        return self._frame(self._rows(), known=())

    def _frame(self, rows: Sequence[Row], known: Iterable[int]) -> Frame:
        old = set(known)
        names = self._names
        fresh = [
            row.player
            for row in rows
            if row.player not in old or names.changed_at(row.player) > self._names_at
        ]
        return frames.around(self._head(), self.first_rank or None, rows, names.of(fresh))

    def _short(self) -> Frame:
        late = self._names.of(self._late_names())
        return frames.around(self._head(), self.first_rank or None, None, late)

    def _head(self) -> Head:
        return Head(self.name, self.epoch, self.version, self.total)


class Standing(NamedTuple):
    """Where a player stands: rank (0: nowhere) and points."""

    rank: int
    points: int


class Seen:
    """What one look saw: the position, the views that changed, where the views' players stand."""

    def __init__(self, picture: Picture, now: float) -> None:
        self.epoch, self.version, self.total = picture.epoch, picture.version, picture.total
        self.reason = picture.reason
        self.now = now
        self.changed: list[AroundView] = []
        self.standings: dict[int, Standing] = {}
        self.again_at = float("inf")  # loop time at which what had to wait may be shown


def by_player(views: Sequence[AroundView], at_once: int) -> Iterator[Sequence[AroundView]]:
    """Cut the views into parts of about that many, all views of one player in one part."""
    ordered = sorted(views, key=attrgetter("player"))
    start = 0
    while start < len(ordered):
        end = start + at_once
        while end < len(ordered) and ordered[end].player == ordered[end - 1].player:
            end += 1
        yield ordered[start:end]
        start = end


def look_around(picture: Picture, views: Sequence[AroundView], now: float, keep: int) -> Seen:
    """Look at these views and refresh those that differ; one synchronous step."""
    seen = Seen(picture, now)
    players = np.fromiter((view.player for view in views), np.int64, len(views))
    ranks = picture.index.ranks(players)
    radii = np.fromiter((view.radius for view in views), np.int64, len(views))
    for radius in np.unique(radii).tolist():
        chosen = np.flatnonzero(radii == radius)
        _look(picture, [views[at] for at in chosen.tolist()], ranks[chosen], seen, keep)
    return seen


def _look(picture: Picture, views: Sequence[AroundView], ranks: Int64s, seen: Seen, keep: int) -> None:
    """Look at views of one radius."""
    windows = picture.index.windows(ranks, views[0].radius)
    own = windows.scores[np.arange(len(views)), np.maximum(ranks - windows.first, 0)]
    points = picture.season.codec.decode_many(own)[0]
    packed = np.concatenate([windows.players, windows.scores], axis=1).tobytes()
    size = len(packed) // len(views)
    columns = (windows.first.tolist(), ranks.tolist(), points.tolist())
    for at, (view, first, *standing) in enumerate(zip(views, *columns, strict=True)):
        seen.standings[view.player] = Standing(*standing)
        if view.refresh(seen, packed[at * size : (at + 1) * size], first, keep):
            seen.changed.append(view)
