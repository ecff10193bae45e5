"""Every metric of the process, in one registry that is handed on, never global.

Owns: names, labels and help texts. Never does: compute figures, or serve them (`web/routes.py` does).
Neighbours: each part gets the `Metrics` of its process and moves its own.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


class Metrics:
    """The process's metrics; labels: role (ingest, persist), partition, board, reason."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"rankcast_{name}", text, labels, registry=self.registry)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"rankcast_{name}", text, labels, registry=self.registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(f"rankcast_{name}", text, labels, registry=self.registry, buckets=buckets)

        # -- feed
        self.results = counter("results", "Results by what became of them", "role", "outcome")
        self.refused = counter("refused", "Records refused, by reason", "role", "reason")
        self.lag = gauge(
            "lag_records", "Records between a role's position and the log's end", "role", "partition"
        )
        self.batch_size = histogram("batch_results", "Results in one batch", _SIZES, "role")
        self.batch_seconds = histogram("batch_seconds", "Time of one batch", _SECONDS, "role")
        self.archive_seconds = histogram("archive_seconds", "Time of one PostgreSQL call", _SECONDS, "call")
        self.newest_age = gauge("newest_applied_age_seconds", "Age of the newest result applied", "role")
        self.produced = counter("produced", "Records sent to Kafka, by outcome", "outcome")
        self.retries = counter("retries", "Tries after a passing fault, by part", "part", "reason")
        self.rebuilds = counter("rebuilds", "Boards rebuilt, by outcome", "outcome")
        self.saturated = counter("saturated", "Sums held at the season's maximum", "board")
