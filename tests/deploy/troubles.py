"""Series as Prometheus sees them: a trouble an alert, and a healthy day. `test_alerts_fire.py` plays them."""

from dataclasses import dataclass

A, WEB = 'instance="a:8000"', 'instance="web-1:8000"'


@dataclass(frozen=True)
class Trouble:
    """Series a minute apart, when the alert has to fire, and what it says then."""

    alert: str
    at: str
    series: dict[str, str]
    labels: dict[str, str]
    summary: str


TROUBLES = [
    Trouble(
        "RankcastDown",
        "3m",
        {f'up{{job="rankcast",{A}}}': "1 0x10"},
        {"job": "rankcast", "instance": "a:8000"},
        "a:8000 does not answer",
    ),
    Trouble(
        "RankcastRoleMissing",
        "5m",
        {f'rankcast_ready{{part="{part}",{A}}}': "1x10" for part in ("ingest", "persist", "boards")},
        {"part": "keeper"},
        "No process has the part keeper",
    ),
    Trouble(
        "RankcastNotReady",
        "5m",
        {f'rankcast_ready{{part="redis",{A}}}': "1 0x10"}
        | {
            f'rankcast_ready{{part="{part}",{A}}}': "1x10"
            for part in ("ingest", "persist", "boards", "keeper")
        },
        {"part": "redis", "instance": "a:8000"},
        "redis of a:8000 is not ready",
    ),
    Trouble(
        "RankcastLag",
        "5m",
        {
            f'rankcast_lag_records{{role="ingest",{A}}}': "30000x10",
            'rankcast_lag_records{role="ingest",instance="b"}': "11000x10",
        },
        {"role": "ingest"},
        "ingest is 41000 records behind the log",
    ),
    Trouble(
        "RankcastResultsOld",
        "3m",
        {
            f'rankcast_newest_applied_age_seconds{{role="ingest",{A}}}': "1 61 121 181 241",
            f'rankcast_lag_records{{role="ingest",topic="t",partition="0",{A}}}': "0 7x10",
        },
        {"role": "ingest", "instance": "a:8000"},
        "ingest of a:8000 stands still at a result of 3m 1s ago",
    ),
    Trouble(
        "RankcastMarkerLife",
        "3m",
        {
            f'rankcast_newest_applied_age_seconds{{role="persist",{A}}}': "1500x10",
            f"rankcast_marker_life_seconds{{{A}}}": "3600x10",
            f'rankcast_lag_records{{role="persist",{A}}}': "7x10",
        },
        {"instance": "a:8000"},
        "persist is 25m 0s behind, close to half a dedup marker's life",
    ),
    Trouble(
        "RankcastRecordsLost",
        "3m",
        {f'rankcast_lost_records_total{{role="persist",{A}}}': "0 0 12x10"},
        {"role": "persist", "instance": "a:8000"},
        "12 records were gone from the log before persist read them",
    ),
    Trouble(
        "RankcastResultRefused",
        "1m",
        {f"rankcast_stuck_partitions{{{A}}}": "0 1x10"},
        {},
        "1 partitions stand at a result that PostgreSQL refuses",
    ),
    Trouble(
        "RankcastBoardClosed",
        "5m",
        {f"rankcast_closed_boards{{{A}}}": "0 2x10"},
        {},
        "2 boards take no results",
    ),
    Trouble(
        "RankcastMirrorStale",
        "3m",
        {f'rankcast_mirror_stale{{board="s12",{WEB}}}': "0 1x10"},
        {"board": "s12", "instance": "web-1:8000"},
        "Viewers of s12 at web-1:8000 see a picture that may be old",
    ),
    Trouble(
        "RankcastRebuildFails",
        "6m",
        {f'rankcast_rebuilds_total{{outcome="failed",{A}}}': "0+1x10"},
        {},
        "Rebuilds of boards fail again and again",
    ),
    Trouble(
        "RankcastRedisWentBack",
        "3m",
        {f"rankcast_boards_went_back_total{{{A}}}": "0 0 1x10"},
        {},
        "Redis lost writes; the boards were brought back from the log",
    ),
    Trouble(
        "RankcastReconcileLeft",
        "1m",
        {f'rankcast_reconcile_left{{board="s12",{A}}}': "0 3x10"},
        {"board": "s12"},
        "3 players of s12 differ from PostgreSQL and were not repaired",
    ),
    Trouble(
        "RankcastRepaired",  # a series that begins with its first repair, where `increase` is blind
        "3m",
        {f'rankcast_reconcile_repaired_total{{board="s12",{A}}}': "_ _ 3x10"},
        {"board": "s12"},
        "3 players of s12 differed from PostgreSQL and were repaired",
    ),
    Trouble(
        "RankcastAuditDiffers",
        "1m",
        {f'rankcast_audit_equal{{board="s12",{A}}}': "1 0x10"},
        {"board": "s12"},
        "The last audit of s12 found differences",
    ),
    Trouble(
        "RankcastChecksOld",
        "15m",
        {f'rankcast_reconcile_age_seconds{{board="s12",{A}}}': "10800+60x20"},
        {"board": "s12"},
        "s12 was last compared with PostgreSQL 3h 15m 0s ago",
    ),
    Trouble(
        "RankcastWrongPartition",
        "3m",
        {f'rankcast_misplaced_total{{role="ingest",{A}}}': "0 0 2x10"},
        {"role": "ingest"},
        "Records lie in another partition than their key's",
    ),
    Trouble(
        "RankcastManyRefused",
        "25m",
        {
            f'rankcast_refused_total{{role="persist",reason="bad_points",{A}}}': "0+60x30",
            f'rankcast_results_total{{role="persist",outcome="stored",{A}}}': "0+1140x30",
        },
        {},
        "5% of the records are refused",
    ),
    Trouble(
        "RankcastSaturated",
        "3m",
        {f'rankcast_saturated_total{{board="s12",{A}}}': "_ _ 1x10"},
        {"board": "s12"},
        "Sums on s12 are held at the season's maximum",
    ),
    Trouble(
        "RankcastClock",
        "3m",
        {f"rankcast_clock_ahead_seconds{{{A}}}": "-3600x10"},
        {"instance": "a:8000"},
        "The clock of a:8000 is 3600.0 s away from Redis's",
    ),
    Trouble(
        "RankcastSubmitFails",
        "5m",
        {f'rankcast_produced_total{{topic="match-results",outcome="failed",{A}}}': "0 0 20x10"},
        {"topic": "match-results"},
        "Kafka did not acknowledge 20 records for match-results",
    ),
    Trouble(
        "RankcastUnsent",
        "3m",
        {f'rankcast_unsent_records{{topic="match-results",{A}}}': "0 45000x10"},
        {"topic": "match-results", "instance": "a:8000"},
        "45000 records of a:8000 wait for Kafka",
    ),
    Trouble(
        "RankcastHttpErrors",
        "15m",
        {
            f'rankcast_http_requests_total{{route="/seasons",status="200",{A}}}': "0+90x20",
            f'rankcast_http_requests_total{{route="/seasons",status="503",{A}}}': "0+10x20",
        },
        {"route": "/seasons"},
        "10% of the requests for /seasons fail",
    ),
    Trouble(
        "RankcastViewersRefused",
        "5m",
        {f'rankcast_viewers_refused_total{{reason="too_many_connections",{WEB}}}': "0+5x10"},
        {"instance": "web-1:8000"},
        "web-1:8000 is full and refuses viewers",
    ),
    Trouble(
        "RankcastViewersCut",
        "15m",
        {
            f'rankcast_viewers_closed_total{{code="3012",{WEB}}}': "0+30x20",
            f"rankcast_viewers{{{WEB}}}": "1000x20",
        },
        {"instance": "web-1:8000"},
        "150 viewers of web-1:8000 were cut within five minutes",
    ),
    Trouble(
        "RankcastSlowTicks",
        "15m",
        {
            f'rankcast_tick_seconds_bucket{{le="0.5",{WEB}}}': "0+0x20",
            f'rankcast_tick_seconds_bucket{{le="1.0",{WEB}}}': "0+600x20",
            f'rankcast_tick_seconds_bucket{{le="+Inf",{WEB}}}': "0+600x20",
        },
        {"instance": "web-1:8000"},
        "A push tick of web-1:8000 takes 995ms",
    ),
]

HEALTHY = {
    f'up{{job="rankcast",{A}}}': "1x240",
    **{
        f'rankcast_ready{{part="{part}",{A}}}': "1x240"
        for part in ("ingest", "persist", "boards", "keeper", "redis")
    },
    f'rankcast_lag_records{{role="persist",{A}}}': "0x100 39000x1 0x140",
    f'rankcast_newest_applied_age_seconds{{role="persist",{A}}}': "1x240",
    f"rankcast_marker_life_seconds{{{A}}}": "3600x240",
    f'rankcast_lost_records_total{{role="persist",{A}}}': "0x240",
    f"rankcast_stuck_partitions{{{A}}}": "0x240",
    f"rankcast_closed_boards{{{A}}}": "0x100 1x1 0x140",  # for the time of a rebuild
    f'rankcast_mirror_stale{{board="s12",{A}}}': "0x240",
    f'rankcast_rebuilds_total{{outcome="failed",{A}}}': "0x100 1x140",
    f"rankcast_boards_went_back_total{{{A}}}": "0x240",
    f'rankcast_reconcile_left{{board="s12",{A}}}': "0x240",
    f'rankcast_audit_equal{{board="s12",{A}}}': "1x240",
    f'rankcast_audit_age_seconds{{board="s12",{A}}}': "0+60x240",
    f'rankcast_misplaced_total{{role="persist",{A}}}': "0x240",
    f'rankcast_refused_total{{role="persist",reason="too_late",{A}}}': "0+5x240",
    f'rankcast_results_total{{role="persist",outcome="stored",{A}}}': "0+1000x240",
    f"rankcast_clock_ahead_seconds{{{A}}}": "0.2x240",
    f'rankcast_produced_total{{topic="match-results",outcome="failed",{A}}}': "0x240",
    f'rankcast_unsent_records{{topic="match-results",{A}}}': "100x240",
    f'rankcast_http_requests_total{{route="/seasons",status="200",{A}}}': "0+100x240",
    f'rankcast_viewers_refused_total{{reason="too_many_connections",{A}}}': "0x240",
    f'rankcast_viewers_closed_total{{code="3012",{A}}}': "0+1x240",
    f"rankcast_viewers{{{A}}}": "1000x240",
    f'rankcast_tick_seconds_bucket{{le="0.005",{A}}}': "0+600x240",
    f'rankcast_tick_seconds_bucket{{le="+Inf",{A}}}': "0+600x240",
}
