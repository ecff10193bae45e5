"""Counts of what was sent, gathered while it is sent and handed to the metrics now and then.

Owns: the counts in between. A step of a metric costs as much as a tenth of a write: one a tick will do.
Neighbours: `board` and `hub` send.
"""

from collections import defaultdict

from server.live.views import Sent
from server.metrics import Metrics


class Tally:
    """What was sent since the last flush, by view."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])

    def add(self, view: str, sent: Sent) -> None:
        """Count what became of one frame for many, `sent.size` bytes in all."""
        counts = self._counts[view]
        for index, count in enumerate(sent):
            counts[index] += count

    def one(self, view: str, size: int) -> None:
        """Count one frame to one viewer."""
        self.add(view, Sent(1, size, 0))

    def flush(self) -> None:
        """Move the metrics."""
        for view, (taken, size, owed) in self._counts.items():
            self._metrics.frames.labels(view=view).inc(taken)
            self._metrics.frame_bytes.labels(view=view).inc(size)
            self._metrics.conflated.labels(view=view).inc(owed)
        self._counts.clear()
