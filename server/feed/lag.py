"""How far behind the log's end a role is, by partition: a figure that is never negative and never made up.

Neighbours: `ingest.py` and `persist.py` report here, `/metrics` shows it.
"""

from server.metrics import Metrics


def lag(end: int | None, position: int | None) -> int | None:
    """Records from a position to the log's end; None where one of them is not known.

    A position may be past an end that was heard of earlier: that is no lag.
    """
    return None if end is None or position is None else max(0, end - position)


class LagReport:
    """The gauge of one role: partitions that the process no longer has vanish from it."""

    def __init__(self, metrics: Metrics, role: str) -> None:
        self._gauge = metrics.lag
        self._role = role
        self._known: set[int] = set()

    def show(self, lags: dict[int, int | None]) -> None:
        """Show the lag of exactly these partitions, of those where it is known."""
        known = {partition: records for partition, records in lags.items() if records is not None}
        for partition in self._known - known.keys():
            self._gauge.remove(self._role, str(partition))
        for partition, records in known.items():
            self._gauge.labels(self._role, str(partition)).set(records)
        self._known = set(known)
