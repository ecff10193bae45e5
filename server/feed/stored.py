"""What was stored, in the role's metrics: results, refusals, batches. Neighbour: `persist_session.py`."""

from server.archive.results import StoreReply
from server.feed.decode import Decoded
from server.feed.report import Report
from server.metrics import Metrics


class StoredCounts:
    """Counts what PostgreSQL has taken."""

    def __init__(self, metrics: Metrics, role: str, report: Report) -> None:
        self._metrics = metrics
        self._role = role
        self._report = report

    def rows(self, reply: StoreReply) -> None:
        """Count the results of one transaction: new ones, and ones that it had."""
        self._metrics.results.labels(self._role, "new").inc(reply.new)
        self._metrics.results.labels(self._role, "repeated").inc(reply.repeated)

    def batch(self, decoded: Decoded, reply: StoreReply, seconds: float) -> None:
        """Count a range that took so long to store: its results, what was refused, how new it is."""
        metrics, role = self._metrics, self._role
        self.rows(reply)
        for reason, count in decoded.reasons().items():
            metrics.refused.labels(role, reason).inc(count)
        if decoded.misplaced:
            metrics.misplaced.labels(role).inc(decoded.misplaced)
        metrics.batch_size.labels(role).observe(decoded.taken)
        metrics.batch_seconds.labels(role).observe(seconds)
        self._report.done(decoded.last_ms or 0)
