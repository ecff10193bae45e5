"""Every metric of the process, in one registry that is handed on, never global.

Owns: names, labels and help texts. Never does: compute figures, or serve them (`web/routes.py` does).
Neighbours: each part gets the `Metrics` of its process and moves its own.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


class Metrics:
    """The process's metrics; labels: role (ingest, persist), partition, board, reason."""

    def __init__(self) -> None:  # noqa: PLR0915  a statement a metric
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)  # memory, CPU, open files

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
        self.misplaced = counter(
            "misplaced", "Records in another partition than their key's (of a fetch 20 are looked at)", "role"
        )
        self.rebalances = counter("rebalances", "Shares of the partitions that a group gave us", "role")
        self.produced = counter("produced", "Records sent to Kafka, by outcome", "topic", "outcome")
        self.closed_boards = gauge("closed_boards", "Boards that take nothing until they have been rebuilt")
        self.went_back = counter(
            "boards_went_back", "Boards found behind the position that Redis had told: it lost writes"
        )
        self.marker_life = gauge("marker_life_seconds", "How long a dedup marker lives: a setting")
        self.lost_records = counter(
            "lost_records", "Records that were gone from the log before they were read", "role"
        )
        self.stuck_partitions = gauge(
            "stuck_partitions", "Partitions that stand at a result which PostgreSQL refuses for good"
        )
        self.retries = counter("retries", "Tries after a passing fault, by part", "part", "reason")
        self.rebuilds = counter("rebuilds", "Boards rebuilt, by outcome", "outcome")
        self.saturated = counter("saturated", "Sums held at the season's maximum", "board")

        # -- the process
        self.clock_ahead = gauge(
            "clock_ahead_seconds", "How far the process's clock is ahead of Redis's; negative: behind"
        )

        # -- keeper
        self.reconciles = counter("reconciles", "Rounds of reconcile, by outcome", "outcome")
        self.reconcile_players = gauge("reconcile_players", "Players compared in the last round", "board")
        self.reconcile_seconds = gauge("reconcile_seconds", "Time of the last round", "board")
        self.reconcile_differences = counter(
            "reconcile_differences", "Differences found by reconcile, by kind", "board", "kind"
        )
        self.reconcile_repaired = counter("reconcile_repaired", "Differences repaired", "board")
        self.reconcile_left = gauge("reconcile_left", "Differences that the last round left", "board")
        self.reconcile_age = gauge("reconcile_age_seconds", "Age of the last round that ended", "board")
        self.audits = counter("audits", "Audits, by outcome", "outcome")
        self.audit_equal = gauge("audit_equal", "1: the last audit found everything equal, 0: not", "board")
        self.audit_seconds = gauge("audit_seconds", "Time of the last audit", "board")
        self.audit_age = gauge("audit_age_seconds", "Age of the last audit", "board")

        # -- mirror
        self.mirror_events = counter("mirror_events", "Events heard, by what they were", "board", "outcome")
        self.mirror_holes = counter(
            "mirror_holes", "Lost events, by how the hole was filled", "board", "filled"
        )
        self.mirror_load_seconds = histogram("mirror_load_seconds", "Time to read a board", _SECONDS)
        self.mirror_apply_seconds = histogram("mirror_apply_seconds", "Time to apply changes", _SECONDS)
        self.mirror_merge_seconds = histogram("mirror_merge_seconds", "Time to merge changes", _SECONDS)
        self.mirror_players = gauge("mirror_players", "Players in the mirror", "board")
        self.mirror_version = gauge("mirror_version", "Version that the mirror shows", "board")
        self.mirror_stale = gauge("mirror_stale", "1 while the mirror may lag", "board")

        # -- HTTP
        self.http_requests = counter(
            "http_requests",
            "Requests by route and status; none: no such address, or no HTTP; gone: the client left first",
            "route",
            "status",
        )
        self.http_seconds = histogram(
            "http_seconds", "Time until the answer to a request began", _SECONDS, "route"
        )
        self.ready = gauge("ready", "1: the part of the process is ready, 0: not", "part")
        self.database_idle = gauge("database_connections_idle", "PostgreSQL connections that nobody uses")
        self.searches = gauge("searches_waiting", "Searches for players that run or wait")
        self.unsent = gauge("unsent_records", "Records that wait for Kafka's acknowledgement", "topic")

        # -- push
        self.viewers = gauge("viewers", "Open sockets and streams", "kind")
        self.subscriptions = gauge("subscriptions", "Subscriptions of all viewers", "view")
        self.opening = gauge("subscriptions_waiting", "Subscriptions that wait for their board to be read")
        self.frames = counter("frames_sent", "Frames sent, by view; replies and heartbeats too", "view")
        self.frame_bytes = counter("frame_bytes_sent", "Bytes of the frames sent", "view")
        self.conflated = counter("frames_conflated", "Frames that slow viewers skip for a newer one", "view")
        self.closed = counter("viewers_closed", "Viewers that left, by close code; 1006: without one", "code")
        self.refused_viewers = counter("viewers_refused", "Viewers refused before they came in", "reason")
        self.commands = counter("commands", "Client commands, by what became of them", "outcome")
        self.tick_seconds = histogram("tick_seconds", "Time of one tick with its fan-out", _SECONDS, "view")
        self.loop_held_seconds = histogram(
            "fan_out_slice_seconds", "Time for which fan-out holds the event loop at once", _SECONDS
        )
        self.names_cached = gauge("names_cached", "Players whose names are kept, known or not")
        self.names_failures = counter("names_failures", "Reads of names that failed, by part", "part")
        self._begin_at_zero()

    def _begin_at_zero(self) -> None:
        """Show what alerts look at before its first step: `increase` does not see a series begin."""
        for role in ("ingest", "persist"):
            self.misplaced.labels(role)
        self.lost_records.labels("persist")
        for outcome in ("done", "failed", "refused"):
            self.rebuilds.labels(outcome)
