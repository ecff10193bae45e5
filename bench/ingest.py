"""Results a second from Kafka to Redis with everything on, beside the naive way on the same services.

Owns the bursts, the waiting until each place (board, PostgreSQL, a page of the web process) has all of one,
and what each process had to work for it. Neighbours: `naive.py`, `stack.py`, `load.py`.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import httpx
import orjson
from redis.asyncio import Redis
from websockets.asyncio.client import connect as open_socket
from websockets.typing import Subprotocol

from bench.load import PLAYERS, Population, Record, running_season
from bench.naive import AT_ONCE, Naive
from bench.report import Say, Table, spread
from bench.stack import ROLES, CpuTimes, Rankcast, Stack, of_services, rankcast, services
from server.archive.store import Archive
from server.board.connection import connect
from server.board.store import BoardStore
from server.core.season import Season
from server.feed.producer import ResultProducer
from server.metrics import Metrics

SEND_AT_ONCE = 5_000
WITHIN_SECONDS = 120.0
TOGETHER, APART = "all roles in one process", "a process for each role"
PROCESSES = {TOGETHER: [ROLES], APART: ["web", "ingest", "persist,keeper"]}


@dataclass(frozen=True)
class Size:
    """How much is measured: results of a burst, of one of the naive way's, bursts of each kind, and which.

    Each board is filled with `players` first.
    """

    burst: int
    naive_burst: int
    runs: int
    players: int
    setups: dict[str, tuple[str, ...]]  # operators that are measured, by setup; in the last one all

    @property
    def operators(self) -> tuple[str, ...]:
        """All operators that are measured."""
        return self.setups[APART]


FULL = Size(50_000, 5_000, 3, PLAYERS, {TOGETHER: ("best",), APART: ("best", "sum")})
QUICK = Size(20_000, 2_000, 1, PLAYERS // 5, {APART: ("best",)})


@dataclass(frozen=True)
class Run:
    """Results a second that reached each place, and CPU microseconds a result by process."""

    board: float
    archive: float
    page: float
    cpu_us: dict[str, float]


@dataclass
class Found:
    """Runs by setup and operator; of a board that was just made; and the naive way's results a second."""

    ours: dict[tuple[str, str], list[Run]] = field(default_factory=dict)
    fresh: dict[str, list[Run]] = field(default_factory=dict)
    loop: dict[str, list[float]] = field(default_factory=dict)
    pipelined: dict[str, list[float]] = field(default_factory=dict)


class Places:
    """How far a season's board and PostgreSQL are, as the sum of all partitions' next offsets."""

    def __init__(self, redis: Redis, archive: Archive, stack: Stack, season: Season) -> None:
        self._archive, self._season_id = archive, season.season_id
        self._boards = BoardStore(redis, stack.settings, Metrics())

    async def board(self) -> int:
        """Records that the board has taken."""
        applied = await self._boards.applied(self._season_id)
        return 0 if applied is None else sum(applied.offsets.values())

    async def archive(self) -> int:
        """Records that PostgreSQL has."""
        return sum((await next_offsets(self._archive)).values())

    async def tag(self) -> str:
        """The ETag of a page that shows the board as it is now."""
        position = await self._boards.position(self._season_id)
        return "" if position is None else '"{}-{}"'.format(*position)


class Bursts:
    """Sends bursts for one season through Kafka, and waits until every place has them."""

    def __init__(
        self, stack: Stack, producer: ResultProducer, places: Places, processes: list[tuple[str, Rankcast]]
    ) -> None:
        self._producer, self._places = producer, places
        self._processes = [*of_services(stack), *((name, it.pid) for name, it in processes)]
        self._url = processes[0][1].url

    async def run(self, season: Season, records: list[Record]) -> Run:
        """One burst, timed from its first record's sending on."""
        wanted = await self._places.archive() + len(records)
        times = CpuTimes(self._processes)
        began = time.monotonic()
        sending = asyncio.create_task(send(self._producer, records))
        async with asyncio.timeout(WITHIN_SECONDS):
            board, page, archive = await asyncio.gather(
                self._board(wanted), self._page(season, wanted), self._archive(wanted)
            )
        await sending
        return Run(
            board=len(records) / (board - began),
            archive=len(records) / (archive - began),
            page=len(records) / (page - began),
            cpu_us={name: used / len(records) * 1e6 for name, used in times.used().items()},
        )

    async def _board(self, wanted: int) -> float:
        while await self._places.board() < wanted:  # noqa: ASYNC110  it happens in other processes
            await asyncio.sleep(0.01)
        return time.monotonic()

    async def _archive(self, wanted: int) -> float:
        while await self._places.archive() < wanted:  # noqa: ASYNC110  it happens in other processes
            await asyncio.sleep(0.05)
        return time.monotonic()

    async def _page(self, season: Season, wanted: int) -> float:
        await self._board(wanted)
        tag = await self._places.tag()
        url = f"{self._url}/seasons/{season.season_id}/leaderboard/top?limit=1"
        async with httpx.AsyncClient() as client:
            while (await client.get(url)).headers.get("etag") != tag:  # noqa: ASYNC110  as above
                await asyncio.sleep(0.01)
        return time.monotonic()


async def send(producer: ResultProducer, records: list[Record]) -> None:
    """Send as fast as Kafka takes them."""
    parts = range(0, len(records), SEND_AT_ONCE)
    await asyncio.gather(*(producer.send(records[at : at + SEND_AT_ONCE]) for at in parts))


@asynccontextmanager
async def viewing(url: str, board: str) -> AsyncIterator[None]:
    """One viewer of the top 100 who takes all frames."""
    subscribe = {"id": 1, "op": "subscribe", "board": board, "view": "top", "limit": 100}
    address = url.replace("http", "ws", 1) + "/ws"
    async with open_socket(address, subprotocols=[Subprotocol("rankcast.v1")], max_size=None) as viewer:
        await viewer.send(orjson.dumps(subscribe).decode())

        async def take() -> None:
            async for _ in viewer:
                pass

        taking = asyncio.create_task(take())
        yield
        taking.cancel()


class Bench:
    """One run of the benchmark: `found` fills up."""

    def __init__(self, size: Size, say: Say) -> None:
        self.size, self.say = size, say
        self.found = Found()

    async def run(self) -> Found:
        """Measure every setup, and the naive way on the services of the last one."""
        for setup in self.size.setups:
            async with AsyncExitStack() as open_:
                self.say(f"{setup}: starting")
                stack = await open_.enter_async_context(services())
                producer = ResultProducer(stack.settings, Metrics())
                await producer.start()
                open_.push_async_callback(producer.stop)
                await self._setup(setup, stack, producer)
                if setup == APART:
                    await self._naive_way(stack, producer)
        return self.found

    async def _setup(self, setup: str, stack: Stack, producer: ResultProducer) -> None:
        async with AsyncExitStack() as open_:
            redis = await open_.enter_async_context(connect(stack.settings.redis_url or ""))
            archive = await open_.enter_async_context(archive_of(stack))
            roles = PROCESSES[setup]
            processes = [
                (
                    "Rankcast" if roles == [ROLES] else own,
                    await open_.enter_async_context(rankcast(stack, own)),
                )
                for own in roles
            ]
            for season_id, operator in enumerate(self.size.setups[setup], 1):
                season = running_season(season_id, operator)
                await stack.create_board(season)
                bursts = Bursts(stack, producer, Places(redis, archive, stack, season), processes)
                async with viewing(processes[0][1].url, season.board):
                    await self._season(setup, stack, season, bursts)

    async def _season(self, setup: str, stack: Stack, season: Season, bursts: Bursts) -> None:
        population, operator = Population(season, self.size.players), season.operator
        self.say(f"{setup}: {operator}, a board of {self.size.players:,} players")
        await bursts.run(season, population.debut())
        if setup == APART:
            self.found.fresh[operator] = await self._runs(
                f"{setup}: fresh {operator}", bursts, season, population
            )
        await stack.age_board(season)
        self.found.ours[setup, operator] = await self._runs(
            f"{setup}: {operator}", bursts, season, population
        )

    async def _runs(self, what: str, bursts: Bursts, season: Season, population: Population) -> list[Run]:
        runs = []
        for number in range(self.size.runs):
            self.say(f"{what}, run {number + 1} of {self.size.runs}")
            runs.append(await bursts.run(season, population.matches(self.size.burst)))
        return runs

    async def _naive_way(self, stack: Stack, producer: ResultProducer) -> None:
        """The naive way, when no process of Rankcast runs any more, on copies of the boards."""
        burst, runs = self.size.naive_burst, self.size.runs
        async with archive_of(stack) as archive, connect(stack.settings.redis_url or "") as redis:
            naive = Naive(stack.settings, await next_offsets(archive))
            for season_id, operator in enumerate(self.size.operators, 1):
                season = running_season(season_id, operator)
                await redis.copy(f"lb:{{{season.board}}}", "naive:board", replace=True)
                await send(producer, Population(season, self.size.players).matches(2 * burst * runs))
                loop: list[float] = []
                pipelined: list[float] = []
                for number in range(runs):
                    self.say(f"the naive way: {operator}, run {number + 1} of {runs}")
                    loop.append(await naive.results_s(season, burst, pipelined=False))
                    pipelined.append(await naive.results_s(season, burst, pipelined=True))
                self.found.loop[operator], self.found.pipelined[operator] = loop, pipelined


@asynccontextmanager
async def archive_of(stack: Stack) -> AsyncIterator[Archive]:
    """PostgreSQL as Rankcast sees it."""
    archive = await Archive.connect(stack.settings.database_url or "", stack.settings, Metrics())
    try:
        yield archive
    finally:
        await archive.close()


async def next_offsets(archive: Archive) -> dict[int, int]:
    """PostgreSQL's next offset by partition."""
    number = await archive.current_log()
    return {} if number is None else await archive.next_offsets(number)


def run(quick: bool, say: Say) -> list[Table]:
    """Measure everything, or one setup and one operator where it has to be `quick`."""
    size = QUICK if quick else FULL
    found = asyncio.run(Bench(size, say).run())
    return [speeds(size, found), costs(found)]


def speeds(size: Size, found: Found) -> Table:
    """Results a second that reached each place."""
    table = Table("Results from Kafka to Redis", ("", *(f"`{operator}`" for operator in size.operators)))

    def add(name: str, values: Mapping[str, list[float]]) -> None:
        table.add(name, *(spread(values[it], "/s") if it in values else "" for it in size.operators))

    add("naive: a loop, one script call a result", found.loop)
    add(f"naive: one script call a result, pipelined by {AT_ONCE}", found.pipelined)
    for setup, operators in size.setups.items():
        ours = {operator: found.ours[setup, operator] for operator in operators}
        add(f"{setup}: in Redis", {it: [run.board for run in runs] for it, runs in ours.items()})
        add(f"{setup}: on a page", {it: [run.page for run in runs] for it, runs in ours.items()})
        add(f"{setup}: in PostgreSQL", {it: [run.archive for run in runs] for it, runs in ours.items()})
    fresh = {it: [run.board for run in runs] for it, runs in found.fresh.items()}
    add("a board made within the last hour: in Redis", fresh)
    table.notes += [
        f"Bursts of {size.burst:,} results of {size.players:,} players, from the sending of the first one to",
        "the arrival of the last one, while ingest, persist and web (a mirror, a viewer of the top 100) work",
        f"on the cores of the services. The naive way ({size.naive_burst:,} results) had the machine to",
        "itself and kept nothing in PostgreSQL.",
    ]
    return table


def costs(found: Found) -> Table:
    """CPU time of each process by result."""
    setups = list(found.ours)
    table = Table("CPU time of a result", ("", *(f"`{operator}`, {setup}" for setup, operator in setups)))
    names = list(dict.fromkeys(name for key in setups for name in found.ours[key][0].cpu_us))
    for name in names:
        cells = [[run.cpu_us[name] for run in found.ours[key] if name in run.cpu_us] for key in setups]
        table.add(name, *(spread(values, " µs", 1) if values else "" for values in cells))
    table.add(
        "all", *(spread([sum(run.cpu_us.values()) for run in found.ours[key]], " µs", 1) for key in setups)
    )
    return table
