"""How fast the demo plays: match days that are due, at a speed that changes and can be 0 for a while.

Owns the arithmetic. Pure: times are given, in seconds, and rise. Neighbours: `player.py` asks it.
"""

SPEEDS = (1, 2, 5, 10, 25, 50, 100)
"""What a page offers; others are taken too."""
DAYS_A_SECOND = 4.0  # at speed 1: a match day each quarter of a second
CATCH_UP_S = 1.0  # after a standstill at most so much is made up for
MOST_DUE = 500  # match days at once, some thousand results


class Tempo:
    """The pace of one run."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self.paused = False
        self._looked: float | None = None
        self._owed = 0.0

    def due(self, now: float) -> int:
        """How many match days have become due since the last call; the first one starts the clock."""
        passed = min(now - self._looked, CATCH_UP_S) if self._looked is not None else 0.0
        self._looked = now
        if self.paused:
            return 0
        self._owed = min(self._owed + passed * self.speed * DAYS_A_SECOND, MOST_DUE)
        days = int(self._owed)
        self._owed -= days
        return days

    def rest(self) -> None:
        """Let the time until the next call not count."""
        self._looked = None
        self._owed = 0.0
