"""A viewer as the hub sees it: somebody who takes frames, a socket or a stream.

Owns: the contract, and what every viewer has (its views, when it was last sent something).
Never does: know how frames travel. Neighbours: `connection` and `sse` are the kinds of viewers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from server.core.wire import Frame
    from server.errors import Close
    from server.live.views import View


class Viewer(ABC):
    """One client. Slotted, since there may be a hundred thousand of them."""

    __slots__ = ("address", "sent_at", "views")

    kind: ClassVar[str]

    def __init__(self, now: float, address: str) -> None:
        self.address = address  # "" where nobody counts addresses
        self.views: tuple[View, ...] = ()
        self.sent_at = now  # loop time in seconds; of pushed frames and replies, not of pings

    @abstractmethod
    def push(self, frame: Frame, now: float) -> bool:
        """Take a frame if there is room for one more; False: the viewer is owed it."""

    @abstractmethod
    def send(self, frame: Frame, now: float) -> None:
        """Take the answer to a command, which nobody else makes up for."""

    @abstractmethod
    def is_quiet(self) -> bool:
        """Whether it has taken all that it was handed and is not closing: a heartbeat would reach it."""

    @abstractmethod
    def check(self, now: float) -> None:
        """Look after deadlines; called every second or so."""

    @abstractmethod
    def end(self, code: Close, reason: str, last: Frame | None = None) -> None:
        """Close, after a last frame where one is given."""

    @abstractmethod
    def cut(self, code: Close) -> None:
        """Drop the line without waiting for anything to be taken."""
