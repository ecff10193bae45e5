"""What a view shows and who watches it: the parts that all views share, and the top.

Owns: which frame leads a member from what it has got to what is shown now; each is encoded once.
Never does: decide when to look again (`board` does), or write to sockets (viewers do).
Neighbours: `around` and `rankups` are the other views; `core/outbox` has the rules of what is owed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from server.core import frames
from server.core.diff import difference
from server.core.frames import Head
from server.core.outbox import History, Mark, Outbox, Owed
from server.core.position import Position
from server.core.rows import Row
from server.core.topics import Topic
from server.core.wire import Frame
from server.core.wire import Sequence as FrameSequence
from server.live.names import Names
from server.live.viewer import Viewer

EXTRA_EVERY_S = 1.0
"""A frame that only a changed total or a late name asks for is made once in so many seconds."""


class First(NamedTuple):
    """What a new member gets at once: a frame (rank-ups: none), and whether it goes on from what it has."""

    resumed: bool
    frame: Frame | None


class Sent(NamedTuple):
    """What became of one frame for many: how many took it, the bytes, how many are owed it."""

    taken: int
    size: int
    owed: int


class View(ABC):
    """One topic and its members; `number` is that of the state shown now."""

    __slots__ = ("empty_since", "name", "number", "outbox", "topic")

    kind: ClassVar[str]

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.name = str(topic)
        self.number = 0
        self.outbox: Outbox[Viewer] = Outbox()
        self.empty_since = 0.0  # loop time; of importance while there are no members

    @abstractmethod
    def first(self, have: Position | None) -> First:
        """What a member gets that joins now."""

    @abstractmethod
    def frame_from(self, number: int) -> Frame:
        """The frame that leads from the state of this number to the one shown now."""

    @abstractmethod
    def position(self) -> tuple[str | None, int] | None:
        """Epoch and version of the state shown now; None for a view that has no state."""

    @abstractmethod
    def players(self) -> Iterable[int]:
        """The players of the rows shown now."""

    def push_to(self, members: Iterable[Viewer], now: float) -> Sent:
        """Hand each of these members what it is owed; a member without room stays owed it."""
        outbox, number = self.outbox, self.number
        taken = size = owed = 0
        for viewer in members:
            got = outbox.got(viewer)
            if got is None or got == number:
                continue  # left meanwhile, or joined
            frame = self.frame_from(got)
            if viewer.push(frame, now):
                outbox.gave(viewer, number)
                taken += 1
                size += len(frame.socket)
            else:
                owed += 1
        return Sent(taken, size, owed)


class Scene(NamedTuple):
    """What a tick sees of a board: one position, the rows that any top view may show, and the names."""

    epoch: str | None
    version: int
    total: int
    reason: str
    rows: Sequence[Row]
    names: Names
    now: float


class TopView(View):
    """The rows from rank 1 to a limit."""

    __slots__ = ("_extra_at", "_frames", "_history", "_names", "_reason", "limit")

    kind = "top"

    def __init__(self, topic: Topic, limit: int, keep: int, names: Names) -> None:
        super().__init__(topic)
        self.limit = limit
        self._history = History(keep)
        self._names = names
        self._reason = "replaced"
        self._frames: dict[int, Frame] = {}  # made since the state shown now began, by where they lead from
        self._extra_at = float("-inf")

    def players(self) -> Iterable[int]:
        """The players of the rows shown now."""
        return [row.player for row in self._history.head.rows]

    def position(self) -> tuple[str | None, int]:
        """Epoch and version of the rows shown now."""
        return self._history.epoch, self._history.head.version

    # -- looking

    def refresh(self, scene: Scene) -> float:
        """Show what the scene has, if it differs; returns the loop time at which to look again, or inf."""
        history, head = self._history, self._history.head
        rows = scene.rows[: self.limit]
        if scene.epoch != history.epoch or scene.version < head.version or self.number == 0:
            self._reason = scene.reason
            history.restart(scene.epoch, scene.version, scene.total, rows, scene.names.mark)
        elif rows != head.rows:
            history.advance(scene.version, scene.total, rows, scene.names.mark)
        elif scene.total != head.total or self._renamed(head):
            if scene.now < self._extra_at + EXTRA_EVERY_S:
                return self._extra_at + EXTRA_EVERY_S
            self._extra_at = scene.now
            history.advance(scene.version, scene.total, head.rows, scene.names.mark)
        else:
            return float("inf")
        self.number = history.head.number
        self._frames.clear()
        return float("inf")

    def _renamed(self, since: Mark) -> bool:
        names = self._names
        return names.mark != since.names_at and any(
            names.changed_at(row.player) > since.names_at for row in since.rows
        )

    # -- frames

    def first(self, have: Position | None) -> First:
        """A diff from where the member is, perhaps an empty one; else the snapshot."""
        mark = self._history.resume(have)
        if mark is None:
            return First(False, self._snapshot())
        return First(True, self._diff(mark))

    def frame_from(self, number: int) -> Frame:
        """A diff, a snapshot for who is too far back, the news and a snapshot after another epoch began."""
        frame = self._frames.get(number)
        if frame is None:
            frame = self._frames[number] = self._make(number)
        return frame

    def _make(self, number: int) -> Frame:
        match self._history.owed(number):
            case Owed.DIFF | Owed.NOTHING:
                return self._diff(self._history.mark(number))
            case Owed.SNAPSHOT:
                return self._snapshot()
            case Owed.SEASON:
                news = frames.season(self.name, self.topic.board, self._reason)
                return FrameSequence([news, self._snapshot()])

    def _snapshot(self) -> Frame:
        whole = self._frames.get(-1)
        if whole is None:
            head = self._history.head
            names = self._names.of(row.player for row in head.rows)
            whole = self._frames[-1] = frames.snapshot(self._head(), head.rows, names)
        return whole

    def _diff(self, since: Mark) -> Frame:
        """The names in it: of those who entered since, and those that were learned or changed since."""
        head = self._history.head
        known = {row.player for row in since.rows}
        fresh = [
            row.player
            for row in head.rows
            if row.player not in known or self._names.changed_at(row.player) > since.names_at
        ]
        change = difference(since.rows, head.rows)
        return frames.diff(self._head(), since.version, change, head.rows, self._names.of(fresh))

    def _head(self) -> Head:
        head = self._history.head
        return Head(self.name, self._history.epoch, head.version, head.total)
