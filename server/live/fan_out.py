"""Handing frames to many viewers: one write each, in slices between which the event loop gets its turn.

Owns: the order of writes and their count. Who leaves or joins between two slices is met as they are then.
Never does: make frames, or keep any for a viewer without room.
Neighbours: `board` calls it on its ticks, `views` know what each member is owed.
"""

from collections.abc import Iterable

from server.core.wire import Frame
from server.live.tally import Tally
from server.live.ticker import Slices
from server.live.viewer import Viewer
from server.live.views import Sent, View

_WRITES_AT_ONCE = 100  # between two looks at the clock


class FanOut:
    """Hands out the frames of one board."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    async def show(self, view: View, slices: Slices) -> None:
        """Hand all members of a view what they are owed of its state."""
        members = view.outbox.members()
        for start in range(0, len(members), _WRITES_AT_ONCE):
            some = members[start : start + _WRITES_AT_ONCE]
            self._tally.add(view.kind, view.push_to(some, slices.begun))
            if slices.over:
                await slices.rest()

    async def happen(self, view: View, frame: Frame, slices: Slices) -> None:
        """Hand all members of a view an event; who has no room misses it."""
        members = view.outbox.members()
        for start in range(0, len(members), _WRITES_AT_ONCE):
            some = [one for one in members[start : start + _WRITES_AT_ONCE] if one in view.outbox]
            taken = sum(one.push(frame, slices.begun) for one in some)
            self._tally.add("rankups", Sent(taken, taken * len(frame.socket), len(some) - taken))
            if slices.over:
                await slices.rest()

    async def tell(self, viewers: Iterable[Viewer], frame: Frame, slices: Slices) -> None:
        """Tell viewers what they have to know, room or not."""
        everybody = list(viewers)
        for start in range(0, len(everybody), _WRITES_AT_ONCE):
            some = everybody[start : start + _WRITES_AT_ONCE]
            for viewer in some:
                viewer.send(frame, slices.begun)
            self._tally.add("news", Sent(len(some), len(some) * len(frame.socket), 0))
            if slices.over:
                await slices.rest()
