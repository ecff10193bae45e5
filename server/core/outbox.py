"""What a client is owed: a version, not a queue.

Owns: which states a view has shown (`History`), which of them each member got last (`Outbox`: one integer
a member), and by what it gets from there to the newest: nothing, a diff, a snapshot, or, where the board was
replaced, that news and a snapshot.
Never does: encode, send, or know what a member is.
Neighbours: `live/views.py` makes the frames, `live/board.py` sends them.
"""

from collections import deque
from collections.abc import Sequence
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

from server.core.position import Position
from server.core.rows import Row

M = TypeVar("M")


class Owed(Enum):
    """By what a member gets from what it has to the newest."""

    NOTHING = "nothing"
    DIFF = "diff"
    SNAPSHOT = "snapshot"
    SEASON = "season"


class Mark(NamedTuple):
    """One state that a view has shown, by its number.

    Numbers rise with every frame, also where the version does not (a name came late); `names_at` is the state
    of the names' cache that it was made with.
    """

    number: int
    version: int
    total: int
    rows: Sequence[Row]
    names_at: int


class History:
    """The last states of one view within one epoch: the newest (the head) and up to `keep` before it."""

    def __init__(self, keep: int) -> None:
        self.epoch: str | None = None
        self._marks: deque[Mark] = deque([Mark(0, 0, 0, (), 0)], maxlen=keep + 1)
        self._begun = 0  # the number with which the epoch began

    @property
    def head(self) -> Mark:
        """The newest state."""
        return self._marks[-1]

    def restart(
        self, epoch: str | None, version: int, total: int, rows: Sequence[Row], names_at: int
    ) -> None:
        """Begin another epoch: nothing leads to it from what was before."""
        self.epoch = epoch
        self._begun = self.head.number + 1
        first = Mark(self._begun, version, total, rows, names_at)
        self._marks.clear()
        self._marks.append(first)

    def advance(self, version: int, total: int, rows: Sequence[Row], names_at: int) -> None:
        """Show a newer state of the same epoch, and forget the oldest. An older version: ValueError."""
        if version < self.head.version:
            raise ValueError(
                f"version {version} comes after {self.head.version}; within an epoch they only rise"
            )
        self._marks.append(Mark(self.head.number + 1, version, total, rows, names_at))

    def owed(self, number: int) -> Owed:
        """Tell by what somebody who has got `number` gets to the head."""
        if number == self.head.number:
            return Owed.NOTHING
        if number < self._begun:
            return Owed.SEASON
        return Owed.DIFF if number >= self._marks[0].number else Owed.SNAPSHOT

    def mark(self, number: int) -> Mark:
        """The state of this number, which is still kept (`owed` says DIFF or NOTHING)."""
        return self._marks[number - self._marks[0].number]

    def resume(self, have: Position | None) -> Mark | None:
        """Return the state that a client has who knows this position, if it is still kept.

        The first of that version: a name that came within the version is then sent again rather than missed.
        """
        if have is None or have.epoch != self.epoch:
            return None
        return next((mark for mark in self._marks if mark.version == have.version), None)


class Outbox(Generic[M]):
    """The members of one view, each with the number of the state that it has got last."""

    __slots__ = ("_got",)

    def __init__(self) -> None:
        self._got: dict[M, int] = {}

    def __len__(self) -> int:
        return len(self._got)

    def __contains__(self, member: object) -> bool:
        return member in self._got

    def gave(self, member: M, number: int) -> None:
        """Note that the member has got the state of this number; a new member joins by that."""
        self._got[member] = number

    def leave(self, member: M) -> bool:
        """Forget the member; False where it was none."""
        return self._got.pop(member, None) is not None

    def got(self, member: M) -> int | None:
        """The number that the member has got last; None for no member."""
        return self._got.get(member)

    def members(self) -> list[M]:
        """The members of this moment."""
        return list(self._got)
