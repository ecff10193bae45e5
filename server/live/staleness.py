"""Whether viewers know that their picture lags: `stale` and `fresh`, without a word about short moments.

Owns: what viewers have been told of one board. Never does: send.
Neighbours: `board` asks on every tick and tells everybody; who joins is told by `for_joiner`.
"""

from server.core import frames
from server.core.wire import Frame
from server.live.picture import Picture

_PATIENCE_MS = 250  # a picture that lags for less is not worth a frame to everybody


class Staleness:
    """What the viewers of one picture have been told of it."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._told: tuple[str, int] | None = None

    def news(self, now_ms: int) -> Frame | None:
        """What everybody has to be told now, as told from now on; None: nothing."""
        stale = self._picture.stale
        if not self.news_due() or self.wait_ms(now_ms):
            return None
        self._told = stale
        board = self._picture.board
        return frames.fresh(board) if stale is None else frames.stale(board, *stale)

    def news_due(self) -> bool:
        """Whether viewers do not know yet how it is; another reason is news, another time is none."""
        stale, told = self._picture.stale, self._told
        return (stale and stale[0]) != (told and told[0])

    def wait_ms(self, now_ms: int) -> int:
        """For how long news still has to wait, in case they are no news by then; 0: they need not."""
        stale = self._picture.stale
        if stale is None or self._told is not None or self._picture.epoch is None:
            return 0
        return min(max(stale[1] + _PATIENCE_MS - now_ms, 0), _PATIENCE_MS)

    def for_joiner(self) -> Frame | None:
        """What somebody is told who joins: the same as the others have been."""
        return None if self._told is None else frames.stale(self._picture.board, *self._told)
