"""How far a rebuild has come, for log lines, the command line and metrics.

Pure: the clock's readings are handed in. Neighbours: `rebuild.py` moves it, `commands` draws it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Step = Literal["load", "catch_up", "done"]


@dataclass(frozen=True, slots=True)
class Progress:
    """`players` loaded of about `of`, at `per_second`; `left_s` is None once all are loaded."""

    season_id: int
    step: Step
    players: int
    of: int
    per_second: float
    left_s: float | None


OnProgress = Callable[[Progress], None]


@dataclass(slots=True)
class Track:
    """Counts one rebuild and tells `on_progress` of it. Times are monotonic seconds."""

    season_id: int
    of: int
    began: float
    on_progress: OnProgress
    players: int = 0

    def tell(self, step: Step, now: float, *, loaded: int = 0) -> None:
        """Add `loaded` players and say where the rebuild is."""
        self.players += loaded
        self.of = max(self.of, self.players)  # results that came after they were counted
        elapsed = max(now - self.began, 1e-6)
        rate = self.players / elapsed
        left = (self.of - self.players) / rate if step == "load" and rate else None
        self.on_progress(Progress(self.season_id, step, self.players, self.of, rate, left))
