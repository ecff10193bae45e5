"""The submit script against a plain model of it, through random deliveries of random logs."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from server.board.batch import SubmitBatch
from server.board.connection import connect
from server.board.position import Applied
from server.board.store import BoardStore
from server.core.results import Result
from server.core.season import Operator, Season
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.boards import changes, in_order, make_season, now_us, open_board, order, ranks, settle

PARTITIONS = 2
Row = list[int | None]
BITS = 3  # so few that sums pass the maximum


@dataclass
class Oracle:
    """A board in plain Python: each record is taken once, by its position, and applied by the operator."""

    season: Season
    applied: dict[int, int] = field(default_factory=dict)
    scores: dict[int, int] = field(default_factory=dict)
    times: dict[int, tuple[int, int]] = field(default_factory=dict)
    first: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    version: int = 1
    saturated: int = 0

    def submit(self, partition: int, start: int, records: Sequence[Result]) -> tuple[str, list[Row]]:
        """What the call answers, and the rows that it tells: player, score, before, after."""
        position = self.applied.get(partition, 0)
        if position < start:
            return "seek", []
        rows: list[Row] = []
        for offset, result in enumerate(records, start):
            if offset >= position and self._first_here(result, (partition, offset)):
                rows += self._apply(result)
        self.applied[partition] = max(position, start + len(records))
        self.version += bool(rows)
        return "done", rows

    def _first_here(self, result: Result, place: tuple[int, int]) -> bool:
        return self.first.setdefault((result.match_id, result.player_id), place) == place

    def _apply(self, result: Result) -> list[Row]:
        player, codec = result.player_id, self.season.codec
        old = self.scores.get(player)
        if self.season.operator == "best":
            new = max(old or 0, codec.encode(result.points, result.achieved_us))
        else:
            points, latest = self.times.get(player, (0, self.season.starts_us))
            if result.points:
                points, latest = points + result.points, max(latest, result.achieved_us)
            self.saturated += points > codec.max_points
            points = min(points, codec.max_points)
            self.times[player] = points, latest
            new = codec.encode(points, latest)
        if new == old:
            return []
        before = ranks(self.scores).get(player)
        self.scores[player] = new
        return [[player, new, before, ranks(self.scores)[player]]]


result_parts = st.tuples(
    st.integers(0, 5),  # match
    st.sampled_from([-1, 0, 1, 9, 10, 2**63 - 1]),  # player
    st.integers(0, 2**BITS - 1),  # points
    st.integers(0, 3),  # tick
)
delivery = st.tuples(st.integers(0, PARTITIONS - 1), st.integers(0, 14), st.integers(0, 14))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    operator=st.sampled_from(["best", "sum"]),
    logs=st.tuples(*[st.lists(result_parts, max_size=14)] * PARTITIONS),
    deliveries=st.lists(delivery, max_size=12),
    batch_max=st.integers(1, 6),
)
def test_any_deliveries_of_any_log_answer_tell_and_end_as_the_model_says(
    redis_url: str,
    operator: Operator,
    logs: tuple[list[tuple[int, int, int, int]], ...],
    deliveries: list[tuple[int, int, int]],
    batch_max: int,
) -> None:
    async def play() -> None:
        async with connect(redis_url) as redis:
            await redis.flushall()
            await compare(
                redis, make_season(operator, points_bits=BITS, time_bits=32), logs, deliveries, batch_max
            )

    asyncio.run(play())


async def compare(
    redis: Redis,
    season: Season,
    logs: tuple[list[tuple[int, int, int, int]], ...],
    deliveries: list[tuple[int, int, int]],
    batch_max: int,
) -> None:
    """Deliver ranges of the logs, then the whole of them, each in calls of `batch_max` in one pipeline."""
    boards, oracle, base_us = BoardStore(redis, Settings(), Metrics()), Oracle(season), now_us() - 60_000_000
    await open_board(boards, season)
    await settle(redis, season)
    records = [
        [
            Result(f"{match:036x}", player, season.season_id, points, base_us + tick * 1_000_000)
            for match, player, points, tick in log
        ]
        for log in logs
    ]
    events: list[dict[str, object]] = []
    saturated = 0
    whole = [(partition, 0, 14) for partition in range(PARTITIONS)]
    for partition, start, count in [*deliveries, *whole]:
        log = records[partition]
        starts = range(min(start, len(log)), min(start + count, len(log)), batch_max)
        batches = [
            SubmitBatch(season, 1, partition, at, at + len(part), range(at, at + len(part)), part)
            for at in starts
            for part in [log[at : min(at + batch_max, start + count)]]
        ]
        for batch, reply in zip(batches, await boards.submit_many(batches), strict=True):
            kind, rows = oracle.submit(partition, batch.start, batch.results)
            assert (reply.kind, reply.version) == (kind, oracle.version)
            assert reply.applied == oracle.applied.get(partition, 0)
            told = [outcome for outcome in reply.outcomes if outcome.code == 1]
            assert [[outcome.before, outcome.after] for outcome in told] == [row[2:] for row in rows]
            saturated += reply.saturated
            events += [{"epoch": reply.epoch, "version": reply.version, "rows": rows}] if rows else []
    assert (await changes(redis, season))[1:] == events
    assert await order(redis, season) == in_order(oracle.scores)
    assert saturated == oracle.saturated
    assert await boards.applied(season.season_id) == Applied(1, oracle.applied)
