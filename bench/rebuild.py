"""A board of a million players rebuilt under full load: the time, what it costs Redis, what viewers see.

Owns the steady load, the watch on Redis (SLOWLOG, LATENCY) and on a viewer, and the reckoning. The rebuild is
`rankcast rebuild`, a process of its own. Neighbours: `ingest.py` sends, `stack.py` runs everything.
"""

import asyncio
import os
import re
import sys
import time
from asyncio.subprocess import PIPE
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from redis.asyncio import Redis
from websockets.asyncio.client import connect as open_socket
from websockets.typing import Subprotocol

from bench.ingest import Places, archive_of, send
from bench.load import Population, running_season
from bench.report import Say, Table, spread
from bench.stack import ROOT, Stack, rankcast, services
from server.board.connection import connect
from server.core.season import Season
from server.feed.producer import ResultProducer
from server.metrics import Metrics

RESULTS_S = 20_000
CHUNKS_S = 20
SLOW_MS = 20.0
NOTED_US = 2_000  # calls of Redis that are noted
LIMIT = 100
FILL_SECONDS = 600.0
PROCESSES = ("web", "ingest", "persist,keeper")


@dataclass(frozen=True)
class Size:
    """How much is measured: players on the board, and rebuilds of it."""

    players: int
    runs: int


FULL = Size(1_000_000, 3)
QUICK = Size(1_000_000, 1)


@dataclass
class View:
    """What a viewer of the top was sent: frames by type, and everything that was not a whole board."""

    types: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def take(self, frame: dict[str, Any], players: int) -> None:
        """Take a frame of a board on which all these players stand throughout."""
        self.types[frame["type"]] += 1
        if frame.get("total", players) < players:
            self.faults.append(f"{frame['type']} tells {frame['total']} players")
        if frame["type"] == "snapshot" and len(frame["rows"]) != LIMIT:
            self.faults.append(f"a snapshot has {len(frame['rows'])} rows")


@dataclass
class Run:
    """One rebuild: what it reports, the slowest calls of Redis by command, and what else was seen."""

    players: int
    seconds: float
    slowest_ms: dict[str, float]
    latency_ms: float
    sent_s: float
    view: View


@asynccontextmanager
async def loaded(producer: ResultProducer, population: Population) -> AsyncIterator[list[int]]:
    """Send results at the full rate while the block runs; the list gets how many of each chunk."""
    sent: list[int] = []

    async def feed() -> None:
        start, chunk, size = time.monotonic(), 0, RESULTS_S // CHUNKS_S
        async with asyncio.TaskGroup() as group:
            while True:
                records = await asyncio.to_thread(population.matches, RESULTS_S)
                for at in range(0, RESULTS_S, size):
                    await asyncio.sleep(max(0.0, start + chunk / CHUNKS_S - time.monotonic()))
                    group.create_task(producer.send(records[at : at + size]))
                    sent.append(size)
                    chunk += 1

    feeding = asyncio.create_task(feed())
    try:
        yield sent
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)


@asynccontextmanager
async def viewing(url: str, season: Season, players: int) -> AsyncIterator[View]:
    """A viewer of the top, from its first snapshot on."""
    subscribe = {"id": 1, "op": "subscribe", "board": season.board, "view": "top", "limit": LIMIT}
    address = url.replace("http", "ws", 1) + "/ws"
    view, begun = View(), asyncio.Event()
    async with open_socket(address, subprotocols=[Subprotocol("rankcast.v1")], max_size=None) as viewer:
        await viewer.send(orjson.dumps(subscribe).decode())

        async def take() -> None:
            async for text in viewer:
                frame = orjson.loads(text)
                if begun.is_set():
                    view.take(frame, players)
                elif frame["type"] == "snapshot":
                    begun.set()

        taking = asyncio.create_task(take())
        await begun.wait()
        yield view
        taking.cancel()


class Watch:
    """Redis's own word on slow calls since `begin`."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def begin(self) -> None:
        """Note calls above 2 ms from now on."""
        await self._redis.config_set("slowlog-log-slower-than", NOTED_US)
        await self._redis.config_set("slowlog-max-len", 100_000)
        await self._redis.config_set("latency-monitor-threshold", int(NOTED_US / 1000))
        await self._redis.slowlog_reset()
        await self._redis.latency_reset()

    async def slowest(self) -> dict[str, float]:
        """Milliseconds of the slowest call by command; scripts go by their first key's kind."""
        found: dict[str, float] = {}
        for entry in await self._redis.slowlog_get(100_000):
            words = entry["command"].decode("utf-8", "replace").split(" ", 4)
            name = _name(words)
            found[name] = max(found.get(name, 0.0), entry["duration"] / 1000)
        return found

    async def latency(self) -> float:
        """Milliseconds of the longest event of any kind."""
        events = await self._redis.latency_latest()
        return max((float(event[3]) for event in events), default=0.0)


def _name(words: list[str]) -> str:
    """A command's name; a script's with what its first key is."""
    if not words[0].upper().startswith("EVAL") or len(words) < 4:
        return words[0]
    key = words[3]
    return f"script on {'the board in the making' if ':rebuild:' in key else 'the live board'}"


class Bench:
    """One run of the benchmark."""

    def __init__(self, size: Size, say: Say) -> None:
        self.size, self.say = size, say

    async def run(self) -> list[Run]:
        """Fill a board, then rebuild it under load."""
        async with AsyncExitStack() as open_:
            self.say("starting")
            stack = await open_.enter_async_context(services())
            redis = await open_.enter_async_context(connect(stack.settings.redis_url or ""))
            archive = await open_.enter_async_context(archive_of(stack))
            web, *_ = [await open_.enter_async_context(rankcast(stack, roles)) for roles in PROCESSES]
            producer = ResultProducer(stack.settings, Metrics())
            await producer.start()
            open_.push_async_callback(producer.stop)
            season = running_season(1, "best")
            await stack.create_board(season)
            population = Population(season, self.size.players)
            await self._fill(Places(redis, archive, stack, season), producer, population)
            await stack.age_board(season)
            runs = []
            for number in range(self.size.runs):
                self.say(f"rebuild {number + 1} of {self.size.runs}")
                async with viewing(web.url, season, len(population.players)) as view:
                    runs.append(await rebuilt(stack, redis, producer, population, view))
            return runs

    async def _fill(self, places: Places, producer: ResultProducer, population: Population) -> None:
        self.say(f"a board of {len(population.players):,} players")
        records = population.debut()
        for at in range(0, len(records), 50_000):
            await send(producer, records[at : at + 50_000])
        async with asyncio.timeout(FILL_SECONDS):
            while min(await places.board(), await places.archive()) < len(records):  # noqa: ASYNC110  elsewhere
                await asyncio.sleep(0.2)


async def rebuilt(
    stack: Stack, redis: Redis, producer: ResultProducer, population: Population, view: View
) -> Run:
    """One rebuild of season 1 under load."""
    watch = Watch(redis)
    async with loaded(producer, population) as sent:
        await asyncio.sleep(1)
        await watch.begin()
        began, before = time.monotonic(), sum(sent)
        players, seconds = await command(stack)
        rate = (sum(sent) - before) / (time.monotonic() - began)
        await asyncio.sleep(3)  # the viewer has the new board by then, the old one's memory is given back
        return Run(players, seconds, await watch.slowest(), await watch.latency(), rate, view)


async def command(stack: Stack) -> tuple[int, float]:
    """Players and seconds, as `rankcast rebuild 1` tells them."""
    settings = stack.settings
    names = {
        "REDIS_URL": settings.redis_url or "",
        "DATABASE_URL": settings.database_url or "",
        "KAFKA_BOOTSTRAP_SERVERS": settings.kafka_bootstrap or "",
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server", "rebuild", "1"),
        cwd=ROOT,
        env=os.environ | names,
        stdout=PIPE,
        start_new_session=True,
    )
    told, _ = await process.communicate()
    found = re.search(r"rebuilt: (\d+) players in ([\d.]+) s", told.decode())
    if found is None:
        raise RuntimeError(f"the rebuild failed, see above: {told.decode()}")
    return int(found[1]), float(found[2])


def run(quick: bool, say: Say) -> list[Table]:
    """Rebuild a board of a million players, once where it has to be `quick`."""
    size = QUICK if quick else FULL
    return [table(size, asyncio.run(Bench(size, say).run()))]


def table(size: Size, runs: list[Run]) -> Table:
    """What the rebuilds took, and what was seen of them."""
    made = Table(f"A rebuild of {size.players:,} players beside {RESULTS_S:,} results a second")
    made.add("time", spread([run.seconds for run in runs], " s", 1))
    made.add("players a second", spread([run.players / run.seconds for run in runs], "/s"))
    made.add("results sent meanwhile", spread([run.sent_s for run in runs], "/s"))
    for name in sorted({name for run in runs for name in run.slowest_ms}):
        slowest = [run.slowest_ms.get(name, 0.0) for run in runs]
        made.add(f"slowest {name}", spread(slowest, " ms", 1))
    made.add("longest event of Redis (LATENCY)", spread([run.latency_ms for run in runs], " ms"))
    for kind in ("season", "snapshot", "stale"):
        made.add(f"frames `{kind}` at a viewer", spread([run.view.types[kind] for run in runs]))
    faults = [fault for run in runs for fault in run.view.faults]
    made.add("empty or partial boards at a viewer", spread([len(run.view.faults) for run in runs]))
    made.notes += [f"Calls of Redis above {NOTED_US / 1000:g} ms are noted; the bound is {SLOW_MS:g} ms."]
    made.notes += faults[:3]
    return made
