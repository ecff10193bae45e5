"""A copy of a board that follows the board's events: which event comes next, what is kept, what has changed.

Owns the position (epoch, version) of the picture that is served, and the rule that no event is left out: an
event that does not follow the last one waits until the hole before it has been filled. Rows are gathered
and go into the index together: `heard` is the version that is gathered, `version` the one that the index
shows. Pure: where events and boards come from, and when to apply, is the mirror's business.
"""

from collections.abc import Iterable
from enum import Enum, auto
from typing import NamedTuple

import numpy as np

from server.core.board_event import BoardEvent
from server.core.codec import ScoreCodec
from server.core.member_order import Int64s
from server.core.order import OrderedIndex

# Rows that changed since changes were taken: above that nobody takes them, and an old order is kept in vain.
_MOST_UNTAKEN = 100_000


class Verdict(Enum):
    """What an event means to the replica."""

    NEXT = auto()  # gathered
    REPEATED = auto()  # known already
    AHEAD = auto()  # versions before it are missing
    OTHER_EPOCH = auto()  # of another board than this one


class Changes(NamedTuple):
    """Who was touched since changes were last taken, and what they were then."""

    players: Int64s  # [n] ascending, none twice
    points_before: Int64s  # [n] -1: was not on the board
    ranks_before: Int64s  # [n] 0: was not on the board


class Replica:
    """One board's picture. At the start there is none: `epoch` is None and the index is empty."""

    def __init__(self, waiting_rows: int) -> None:
        self.epoch: str | None = None
        self.version = 0
        self.heard = 0
        self.reason = "replaced"
        self.index = OrderedIndex()
        self.recording = False
        self._gathered: dict[int, int] = {}
        self._waiting: list[BoardEvent] = []
        self._rows_left = self._waiting_rows = waiting_rows
        self._touched: list[Int64s] = []
        self._untaken = 0
        self._before: OrderedIndex | None = self.index.snapshot()

    # -- events

    def offer(self, event: BoardEvent) -> Verdict:
        """Gather the event if it is the next one; keep it for later if versions before it are missing.

        While `recording`, for a board that is being read, every event is kept.
        """
        verdict = self._judge(event)
        if verdict is Verdict.NEXT:
            self.heard = event.version
            self._gathered.update(zip(event.players, event.scores, strict=True))
        if self.recording or verdict is Verdict.AHEAD:
            self._keep(event)
        return verdict

    def _judge(self, event: BoardEvent) -> Verdict:
        if event.epoch != self.epoch:
            return Verdict.OTHER_EPOCH
        if event.version > self.heard + 1:
            return Verdict.AHEAD
        return Verdict.NEXT if event.version == self.heard + 1 else Verdict.REPEATED

    def _keep(self, event: BoardEvent) -> None:
        """Keep an event; where there are too many rows none is kept, and the change log has to tell them."""
        self._waiting.append(event)
        self._rows_left -= 1 + len(event.players)
        if self._rows_left < 0:
            self.forget()

    def forget(self) -> None:
        """Let go of the events that wait."""
        self._waiting, self._rows_left = [], self._waiting_rows

    def drain(self) -> None:
        """Gather what waits and follows now, let go of the rest but for what is still ahead."""
        waiting = sorted(self._waiting, key=lambda event: event.version)
        self.forget()
        for event in waiting:
            self.offer(event)

    def waiting(self, epoch: str, after: int, last: int) -> list[BoardEvent] | None:
        """Return the kept events after one version up to another; None if any of them is missing."""
        kept = {event.version: event for event in self._waiting if event.epoch == epoch}
        versions = range(after + 1, last + 1)
        return [kept[version] for version in versions] if all(map(kept.__contains__, versions)) else None

    @property
    def is_behind(self) -> bool:
        """Whether events wait for versions that are missing."""
        return any(event.epoch == self.epoch and event.version > self.heard for event in self._waiting)

    # -- the picture

    @property
    def gathered(self) -> bool:
        """Whether there are changes that the index does not show yet."""
        return self.heard != self.version

    def apply(self) -> None:
        """Put into the index what was gathered, and move the position there."""
        players, scores = _arrays(self._gathered)
        self._gathered = {}
        self.index.apply(players, scores)
        self.version = self.heard
        self._touched.append(players)
        self._untaken += len(players)
        if self._untaken > _MOST_UNTAKEN:
            self._lose_changes()

    def _lose_changes(self) -> None:
        """Have changes begin anew: what there is cannot be told, or nobody asks."""
        self._before, self._touched, self._untaken = None, [], 0

    def install(self, epoch: str | None, version: int, index: OrderedIndex, reason: str = "replaced") -> None:
        """Show another picture, which holds everything up to `version`; events go on from there."""
        if epoch != self.epoch:
            self.reason = reason
        self.epoch, self.index = epoch, index
        self.version = self.heard = version
        self._gathered = {}
        self._lose_changes()

    def take_changes(self, codec: ScoreCodec) -> Changes | None:
        """Return what has changed since the last call; None if that cannot be told, as after a reload."""
        before, touched = self._before, self._touched
        self._before, self._touched, self._untaken = self.index.snapshot(), [], 0
        if before is None:
            return None
        players = np.unique(np.concatenate(touched)) if touched else np.zeros(0, np.int64)
        scores = before.scores(players)
        points = np.where(scores < 0, -1, codec.decode_many(scores)[0])
        return Changes(players, points, before.ranks(players))


def merge_events(events: Iterable[BoardEvent]) -> tuple[Int64s, Int64s]:
    """Return players and the last scores of events given in order, as `OrderedIndex.apply` takes them."""
    last: dict[int, int] = {}
    for event in events:
        last.update(zip(event.players, event.scores, strict=True))
    return _arrays(last)


def _arrays(scores: dict[int, int]) -> tuple[Int64s, Int64s]:
    count = len(scores)
    return np.fromiter(scores.keys(), np.int64, count), np.fromiter(scores.values(), np.int64, count)
