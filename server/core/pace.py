"""How fast: when the next tick may come, how many commands a socket may send, when a reader counts as stuck.

Owns: these rules, on times in seconds that are handed in. Never reads a clock.
Neighbours: `live/board.py` asks for ticks, `live/session.py` for commands, `live/connection.py` for readers.
"""

_FAN_OUT_SHARE = 0.05  # of the loop's time, up to which ticks come sooner than they must
_SHORTEST = 0.25  # of the longest tick: more frames than that help nobody's eyes


def tick_interval(spent_s: float, longest_s: float) -> float:
    """Return the seconds from the begin of a tick that took `spent_s` of the loop to the next one's."""
    return min(longest_s, max(longest_s * _SHORTEST, spent_s / _FAN_OUT_SHARE))


_LONG_AGO = float("-inf")


class Allowance:
    """Commands of one socket: a number in any second that begins with one, and a stock for taking views back.

    A client that reconnects asks for all its views at once; those first ones, up to `stock`, are not counted.
    """

    __slots__ = ("_count", "_second", "_stock")

    def __init__(self, stock: int) -> None:
        self._stock = stock
        self._second = _LONG_AGO
        self._count = 0

    def opens(self) -> bool:
        """Take a subscription out of the stock, if there is one left."""
        if self._stock > 0:
            self._stock -= 1
            return True
        return False

    def counts(self, now: float, per_second: int) -> bool:
        """Count a command; False: it is one too many."""
        if now - self._second >= 1.0:
            self._second = now
            self._count = 0
        self._count += 1
        return self._count <= per_second


class Hold:
    """Bytes that a socket has been handed and not taken: whether its reader moves, however slowly."""

    __slots__ = ("_handed", "_since", "_taken")

    def __init__(self, unsent: int, now: float) -> None:
        self._handed = unsent
        self._taken = 0
        self._since = now

    def hand(self, size: int) -> None:
        """Note that `size` more bytes were handed over."""
        self._handed += size

    def moved(self, unsent: int, now: float) -> bool:
        """Whether any byte was taken since the last look; `unsent` is what is left of all that was handed."""
        taken = self._handed - unsent
        if taken <= self._taken:
            return False
        self._taken = taken
        self._since = now
        return True

    def still_for(self, now: float) -> float:
        """Seconds since a byte was last seen to be taken."""
        return now - self._since
