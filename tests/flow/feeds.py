"""What the tests of ingest and persist are made with: a flow on real services, and records for it."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from aiokafka import AIOKafkaConsumer, TopicPartition
from redis.asyncio import Redis

from server.archive.catalog import SeasonCatalog
from server.archive.store import Archive
from server.board.connection import connect
from server.board.keys import BoardKeys
from server.board.position import Applied, new_epoch
from server.board.store import BoardStore
from server.core.results import Result, result_value
from server.core.season import Season
from server.feed.identity import TopicWatch
from server.feed.ingest import Ingest
from server.feed.lane import Record
from server.feed.persist import Persist
from server.feed.producer import ResultProducer
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.boards import make_season, now_us, order
from tests.waiting import until


@dataclass
class Flow:
    """Kafka, Redis and PostgreSQL with all that ingest and persist need; ends what it started."""

    settings: Settings
    metrics: Metrics
    redis: Redis
    archive: Archive
    catalog: SeasonCatalog
    boards: BoardStore
    producer: ResultProducer
    lost: list[int] = field(default_factory=list)  # boards that ingest called lost
    reported: list[int] = field(default_factory=list)  # boards that persist called lost
    rebuild: bool = True
    _running: dict[asyncio.Task[None], asyncio.Event] = field(default_factory=dict)

    # -- roles

    def ingest(self, settings: Settings | None = None) -> Ingest:
        """A running ingest, which reads on until it is stopped."""
        role = Ingest(
            settings or self.settings,
            self.metrics,
            self.archive,
            self.catalog,
            self.boards,
            on_lost=self._on_lost,
        )
        self._start(role)
        return role

    def persist(self, settings: Settings | None = None) -> Persist:
        """A running persist."""

        async def report(season: Season) -> None:
            self.reported.append(season.season_id)

        settings = settings or self.settings
        role = Persist(settings, self.metrics, self.archive, self.catalog, on_lost=report)
        self._start(role)
        return role

    def _start(self, role: Ingest | Persist) -> None:
        stop = asyncio.Event()
        task = asyncio.create_task(role.run(stop))
        task.role = role  # type: ignore[attr-defined]  # how `stop` finds it
        self._running[task] = stop

    async def stop(self, role: Ingest | Persist) -> None:
        """An orderly stop."""
        for task, stop in list(self._running.items()):
            if task.role is role:  # type: ignore[attr-defined]  # as above
                stop.set()
                async with asyncio.timeout(20):
                    await task
                del self._running[task]

    async def kill(self, role: Ingest | Persist) -> None:
        """End it between two awaits, as a crash would: no commit, no farewell to what it was doing."""
        for task in list(self._running):
            if task.role is role:  # type: ignore[attr-defined]  # as above
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                del self._running[task]

    async def close(self) -> None:
        for task, stop in self._running.items():
            stop.set()
            done, late = await asyncio.wait({task}, timeout=20)
            for each in late:
                each.cancel()
            await asyncio.gather(*done, *late)

    async def _on_lost(self, season: Season) -> None:
        self.lost.append(season.season_id)
        if self.rebuild:
            await self.rebuild_board(season)

    async def rebuild_board(self, season: Season) -> None:
        """What the keeper does, in short: PostgreSQL's totals and offsets become the live board."""
        keys = BoardKeys(season.season_id, new_epoch())
        await self.boards.rebuilds.begin(keys, season)
        number = 0
        async with self.archive.totals(season.season_id) as totals:
            if totals.log is None:
                return
            async for chunk in totals.chunks(500):
                rows = [(season.codec.encode(row.points, row.achieved_us), row.player_id) for row in chunk]
                await self.boards.rebuilds.load(keys, number, rows)
                number += 1
            applied = Applied(totals.log, totals.offsets)
        await self.boards.rebuilds.finish(keys, number, applied)
        await self.boards.rebuilds.swap(keys)

    async def opened(self, ingest: Ingest, *seasons: Season) -> None:
        """Wait until the boards take results: what is sent now is ingest's to apply."""
        wanted = {season.season_id for season in seasons}
        await until(lambda: wanted <= ingest.open_boards)

    # -- seasons and records

    async def season(self, season: Season | None = None) -> Season:
        """A season that stands in PostgreSQL."""
        season = season or make_season()
        await self.archive.create_season(season)
        await self.catalog.refresh()
        return season

    def record(
        self, season: Season, player: int, points: int, *, ago_s: float = 5, match: str | None = None
    ) -> Record:
        """A record as a game server sends it; achieved `ago_s` seconds ago."""
        match = match or str(uuid.uuid4())
        result = Result(match, player, season.season_id, points, now_us() - int(ago_s * 1_000_000))
        return b"%d" % player, result_value(result)

    async def send(self, records: Sequence[Record]) -> None:
        await self.producer.send(records)

    # -- what came of it

    async def points(self, season: Season) -> dict[int, int]:
        """Player → points on the live board."""
        return {player: season.codec.decode(score)[0] for player, score in await order(self.redis, season)}

    async def on_board(self, season: Season, wanted: dict[int, int], *, within: float = 15) -> None:
        """Wait until the live board is exactly this."""
        with_board: dict[int, int] = {}

        async def same() -> bool:
            nonlocal with_board
            with_board = await self.points(season)
            return with_board == wanted

        try:
            await until(same, within=within)
        except AssertionError:
            assert with_board == wanted
            raise

    async def stored(self, season: Season, rows: int, *, within: float = 15) -> None:
        """Wait until PostgreSQL has so many results of the season."""

        async def enough() -> bool:
            return await self.count(season) >= rows

        await until(enough, within=within)
        assert await self.count(season) == rows

    async def count(self, season: Season) -> int:
        async with self.archive._database.transaction() as connection:
            found: int = await connection.fetchval(
                "SELECT count(*) FROM match_results WHERE season_id = $1", season.season_id
            )
            return found

    async def totals(self, season: Season) -> dict[int, int]:
        """Player → points as SQL has them."""
        return {
            total.player_id: total.points for total in await self.archive.top(season.season_id, 1_000_000)
        }

    def metric(self, name: str, **labels: str) -> float:
        """A metric's value; 0 where it has none."""
        return self.metrics.registry.get_sample_value(f"rankcast_{name}", labels) or 0.0

    async def log_number(self) -> int:
        watch = TopicWatch(self.settings.kafka_bootstrap or "", self.settings.topic)
        try:
            return await self.archive.log_number((await watch.look()).identity)
        finally:
            await watch.close()

    async def rejected(self, count: int, *, within: float = 15) -> list["Rejected"]:
        """Wait for so many records in the rejected topic and give all that are there."""
        return await read_rejected(self.settings, count, within=within)


@dataclass(frozen=True)
class Rejected:
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes]


async def read_rejected(settings: Settings, count: int, *, within: float) -> list[Rejected]:
    """All of the rejected topic, once it has `count` records."""
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.kafka_bootstrap, auto_offset_reset="earliest")
    found: list[Rejected] = []
    await consumer.start()
    try:
        consumer.assign([TopicPartition(f"{settings.topic}.rejected", 0)])

        async def enough() -> bool:
            for records in (await consumer.getmany(timeout_ms=50)).values():
                found.extend(Rejected(each.key, each.value, dict(each.headers)) for each in records)
            return len(found) >= count

        await until(enough, within=within)
    finally:
        await consumer.stop()
    return found


@contextlib.asynccontextmanager
async def open_flow(settings: Settings) -> AsyncIterator[Flow]:
    """A flow on the services that the settings name."""
    assert settings.redis_url is not None
    assert settings.database_url is not None
    metrics = Metrics()
    archive = await Archive.connect(settings.database_url, settings, metrics)
    await archive.migrate()
    producer = ResultProducer(settings, metrics)
    await producer.start()
    async with connect(settings.redis_url) as redis:
        catalog = SeasonCatalog(archive, asyncio.get_running_loop().time)
        flow = Flow(
            settings, metrics, redis, archive, catalog, BoardStore(redis, settings, metrics), producer
        )
        try:
            yield flow
        finally:
            await flow.close()
            await producer.stop()
            await archive.close()
