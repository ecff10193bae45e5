"""A whole Rankcast on services that a test may break, under load and looked at from all sides.

Owns: the processes, who feeds and who looks on, and `holds`, the one question that every fault ends with.
Never breaks anything by itself.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from server.archive.store import Archive
from server.core.season import Season
from server.embedded.process import free_port
from server.metrics import Metrics
from server.settings import Settings
from tests.faults.feeder import Feeder
from tests.faults.roles import Role, http_client
from tests.faults.truth import (
    Live,
    Truth,
    assert_each_once,
    assert_same_board,
    is_drained,
    read_live,
    read_truth,
)
from tests.faults.watching import LIMIT, Reader, Readiness, Watching
from tests.flow.boards import make_season
from tests.services import PARTITIONS
from tests.waiting import until

ALL = {"all": "web,ingest,persist,keeper"}
APART = {name: name for name in ("web", "ingest", "persist", "keeper")}
SUM, BEST = 1, 2  # the two seasons: what is counted twice shows in the sums


@dataclass
class Arena:
    """All of it. `redis_url` is where the truth is read; Rankcast itself may reach Redis through a wire."""

    redis_url: str
    database_url: str
    seasons: list[Season]
    roles: dict[str, Role]
    feeder: Feeder
    watching: Watching
    reader: Reader
    readiness: dict[str, Readiness] = field(default_factory=dict)
    began: float = 0.0  # monotonic seconds at which all was well

    @property
    def web(self) -> Role:
        """The process that serves viewers."""
        return next(role for role in self.roles.values() if "web" in role.roles)

    def role(self, name: str) -> Role:
        """The process that has this role."""
        return next(role for role in self.roles.values() if name in role.roles.split(","))

    def ready(self, name: str) -> Readiness:
        """The probe of the process that has this role."""
        return self.readiness[self.role(name).name]

    def told(self, name: str, event: str, /, **fields: object) -> int:
        """How many log lines of this event the role's process has written."""
        return len(self.role(name).told(event, **fields))

    async def logged(self, name: str, event: str, /, *, within: float = 10.0, **fields: object) -> None:
        """Wait for a log line of this event in the role's process."""
        try:
            await until(lambda: self.told(name, event, **fields), within=within, every=0.05)
        except AssertionError:
            events = {line.get("event") for line in self.role(name).lines()}
            raise AssertionError(f"{name} never told {event} {fields}, but {events}") from None

    def assert_viewers_stayed(self) -> None:
        """The socket was never cut, and REST answered all along."""
        assert self.watching.connections == 1
        assert self.reader.failures == []

    async def holds(self, *, within: float = 60.0) -> None:
        """Stop feeding, wait until everything is drained, and hold every picture against SQL."""
        deadline = time.monotonic() + within
        await self.feeder.finish(within=within)
        truth, boards = await self._drained(deadline)
        assert_each_once(truth, self.feeder.acknowledged, self.feeder.sent)
        for season, live in zip(self.seasons, boards, strict=True):
            sql = truth.boards[season.season_id]
            assert_same_board(f"totals of {season.board}", truth.totals[season.season_id], sql)
            assert_same_board(f"{season.board} in Redis", live.board, sql)
            await self._shown(season, live, deadline)
        self.watching.check()
        self.reader.check()
        for probe in self.readiness.values():
            probe.check()
            await probe.ready(within=10)

    async def _drained(self, deadline: float) -> tuple[Truth, list[Live]]:
        """Wait until every board and PostgreSQL have read the log to its end; what they are then."""
        while True:
            truth = await read_truth(self.database_url, self.seasons)
            boards = [await read_live(self.redis_url, season) for season in self.seasons]
            if all(is_drained(truth, live, self.feeder.seals) for live in boards):
                return truth, boards
            if time.monotonic() > deadline:
                missing = sum(key not in truth.results for key in self.feeder.acknowledged)
                raise AssertionError(
                    f"not drained: {missing} acknowledged results not in PostgreSQL, which is at "
                    f"{truth.log}: {truth.offsets}, boards at {[live.applied for live in boards]}; "
                    f"/readyz {[probe.now for probe in self.readiness.values()]}"
                )
            await asyncio.sleep(0.2)

    async def _shown(self, season: Season, live: Live, deadline: float) -> None:
        """Wait until the viewer and REST show the board, at its position, and nobody calls it stale."""
        seat, rows = self.watching.seats[season.board], live.rows(season, LIMIT)
        async with http_client() as client:
            address = f"{self.web.url}/seasons/{season.season_id}/leaderboard/top?limit={LIMIT}"
            while True:
                self.watching.check()
                top = (await client.get(address)).json()
                rest = [(entry["playerId"], entry["points"], entry["achievedAt"]) for entry in top["entries"]]
                stale = await self.web.metric("mirror_stale", board=season.board)
                pictures = {
                    "REST's position": ((top["epoch"], top["version"]), (live.epoch, live.version)),
                    "REST's total": (top["total"], len(live.board)),
                    "REST's rows": ([(int(player), *rest_of) for player, *rest_of in rest], rows),
                    "the viewer's rows": (seat.rows, rows),
                    "the viewer's epoch": (seat.epoch, live.epoch),
                    "stale marks": ((seat.stale, stale), (None, 0)),
                }
                wrong = {what: pair for what, pair in pictures.items() if pair[0] != pair[1]}
                if not wrong:
                    assert seat.version <= live.version  # of the last change of its rows
                    return
                assert time.monotonic() < deadline, f"{season.board}: {wrong}"
                await asyncio.sleep(0.1)


@asynccontextmanager
async def standing(
    place: Path,
    *,
    redis_url: str,
    database_url: str,
    kafka_bootstrap: str,
    topic: str,
    through: str | None = None,
    processes: Mapping[str, str] = ALL,
    partitions: int = PARTITIONS,
    **variables: str,
) -> AsyncIterator[Arena]:
    """Start the processes (name → roles), two seasons, a viewer and readers; feed 2,000 results a second.

    `through`: the URL by which Rankcast reaches Redis, a wire to `redis_url`. `variables` are settings of all
    processes. Nothing is fed before every process is ready and the viewer has its first pictures.
    """
    settings = Settings(
        redis_url=redis_url,
        database_url=database_url,
        kafka_bootstrap=kafka_bootstrap,
        topic=topic,
        topic_partitions=partitions,
    )
    environment = {
        "REDIS_URL": through or redis_url,
        "DATABASE_URL": database_url,
        "KAFKA_BOOTSTRAP_SERVERS": kafka_bootstrap,
        "RANKCAST_TOPIC": topic,
        "RANKCAST_TOPIC_PARTITIONS": str(partitions),
        "RANKCAST_GROUP_PREFIX": topic,
        "RANKCAST_DATA_DIR": str(place / "data"),
        "RANKCAST_API_KEY": "a key of the tests",
        "RANKCAST_DEMO": "false",
        "RANKCAST_LOG_JSON": "true",
        "RANKCAST_CONSUMER_GROUPS": "false",  # a join costs seconds; tests of several readers switch it on
        "RANKCAST_FETCH_WAIT_MS": "20",
        **variables,
    }
    seasons = [make_season("sum", season_id=SUM), make_season("best", season_id=BEST)]
    await _create(settings, seasons)
    roles = {name: _role(place, name, words, environment) for name, words in processes.items()}
    feeder = Feeder(settings, seasons, partitions=partitions)
    web = next(role for role in roles.values() if "web" in role.roles)
    watching = Watching(web.socket_url, [season.board for season in seasons])
    reader = Reader(web.url, SUM)
    readiness = {name: Readiness(role.url, role.end) for name, role in roles.items()}
    arena = Arena(redis_url, database_url, seasons, roles, feeder, watching, reader, readiness)
    async with AsyncExitStack() as stack:
        for role in roles.values():
            stack.push_async_callback(role.client.aclose)
            stack.push_async_callback(role.kill)
            await role.start()
        await asyncio.gather(*(role.ready() for role in roles.values()))
        probes = [probe.close for probe in readiness.values()]
        for close in (feeder.close, watching.close, reader.close, *probes):
            stack.push_async_callback(close)
        for probe in readiness.values():
            probe.open()
        await watching.open()
        reader.open()
        feeder.start()
        await feeder.more(2000)
        arena.began = time.monotonic()
        yield arena


async def _create(settings: Settings, seasons: list[Season]) -> None:
    archive = await Archive.connect(settings.database_url or "", settings, Metrics())
    try:
        await archive.migrate()
        for season in seasons:
            await archive.create_season(season)
    finally:
        await archive.close()


def _role(place: Path, name: str, roles: str, environment: Mapping[str, str]) -> Role:
    port = free_port()
    own = {**environment, "RANKCAST_PORT": str(port)}
    return Role(name, roles, f"http://127.0.0.1:{port}", own, place / f"{name}.log")
