"""How fast a count grows, over the last seconds. Never knows a clock: times are given."""

from collections import deque

WINDOW_S = 5.0


class Rate:
    """Counts with their times (seconds, rising), and how fast the count grows."""

    def __init__(self) -> None:
        self._counts: deque[tuple[float, int]] = deque()

    def add(self, now: float, count: int) -> None:
        """The count as of now; one that is lower than the last begins anew."""
        if self._counts and count < self._counts[-1][1]:
            self._counts.clear()
        self._counts.append((now, count))
        while self._counts[0][0] < now - WINDOW_S:
            self._counts.popleft()

    def per_second(self) -> float | None:
        """Growth a second over the window; None before there are two counts in it."""
        (began, first), (ended, last) = self._counts[0], self._counts[-1]
        return round((last - first) / (ended - began), 1) if ended > began else None
