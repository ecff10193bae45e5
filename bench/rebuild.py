"""A board of a million players rebuilt under full load: the time, what it costs Redis, what viewers see.

Owns the steady load, the watch on Redis (SLOWLOG, LATENCY) and on a viewer, and the reckoning. The rebuild is
`rankcast rebuild`, a process of its own. Neighbours: `ingest.py` sends, `stack.py` runs everything.
"""

import asyncio
import os
import re
import sys
import time
import uuid
from asyncio.subprocess import PIPE
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
from redis.asyncio import Redis
from websockets.asyncio.client import connect as open_socket
from websockets.typing import Subprotocol

from bench.ingest import archive_of, next_offsets
from bench.load import Population, Record, running_season
from bench.report import Say, Table, spread
from bench.stack import ROOT, Stack, rankcast, services
from server.archive.store import Archive
from server.board.scripts import Script
from server.core.log_identity import LogIdentity
from server.core.results import Result
from server.core.season import Season
from server.feed.producer import ResultProducer
from server.metrics import Metrics

RESULTS_S = 20_000
CHUNKS_S = 20
MOST_WAITING = 3 * RESULTS_S  # results that PostgreSQL has not stored yet
SLOW_MS = 20.0
MOST_NOTED = 20_000
NOTED_US = 5_000  # calls of Redis that are noted
LIMIT = 100
FILL_AT_ONCE = 5_000
DELIVERY_SECONDS = 120.0
NO_ROUNDS = {"RANKCAST_RECONCILE_EVERY_S": "0", "RANKCAST_AUDIT_EVERY_S": "0"}
COLUMNS = ("", "median (least to most)", "")
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
    calls_ms: dict[str, list[float]]
    latency_ms: dict[str, float]
    sent_s: float
    view: View
    checked_s: dict[str, float]


@asynccontextmanager
async def loaded(
    producer: ResultProducer, population: Population, archive: Archive
) -> AsyncIterator[list[int]]:
    """Send results at the full rate, or as fast as PostgreSQL takes them, while the block runs.

    The list gets the number of each chunk that Kafka has acknowledged.
    """
    sent: list[int] = []
    turns = asyncio.Semaphore(CHUNKS_S)

    async def chunk(records: list[Record]) -> None:
        try:
            await producer.send(records)
        finally:
            turns.release()
        sent.append(len(records))

    async def feed() -> None:
        due, size = time.monotonic(), RESULTS_S // CHUNKS_S
        async with asyncio.TaskGroup() as group:
            while True:
                records = await asyncio.to_thread(population.matches, RESULTS_S)
                while sum(sent) - sum((await next_offsets(archive)).values()) + before > MOST_WAITING:  # noqa: ASYNC110  elsewhere
                    await asyncio.sleep(0.1)
                for at in range(0, RESULTS_S, size):
                    await turns.acquire()
                    await asyncio.sleep(due - time.monotonic())
                    due = max(due, time.monotonic() - 1) + 1 / CHUNKS_S
                    group.create_task(chunk(records[at : at + size]))

    before = sum((await next_offsets(archive)).values())
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
    protocol = [Subprotocol("rankcast.v1")]
    async with open_socket(address, subprotocols=protocol, max_size=None, ping_interval=None) as viewer:
        await viewer.send(orjson.dumps(subscribe).decode())

        async def take() -> None:
            async for text in viewer:
                frame = orjson.loads(text)
                if begun.is_set():
                    view.take(frame, players)
                elif frame["type"] == "snapshot" and frame["total"] >= players:
                    begun.set()  # not with the picture of a board that this process has yet to read

        taking = asyncio.create_task(take())
        await begun.wait()
        yield view
        taking.cancel()


class Watch:
    """Redis's own word on slow calls since `begin`."""

    def __init__(self, url: str) -> None:
        self._redis = Redis.from_url(url, socket_timeout=60)  # thousands of entries are a long answer

    async def begin(self) -> None:
        """Note calls above 5 ms from now on."""
        await self._redis.config_set("slowlog-log-slower-than", NOTED_US)
        await self._redis.config_set("slowlog-max-len", MOST_NOTED)
        await self._redis.config_set("latency-monitor-threshold", int(NOTED_US / 1000))
        await self._redis.slowlog_reset()
        await self._redis.latency_reset()

    async def calls(self) -> dict[str, list[float]]:
        """Milliseconds of each call that was noted, by command; scripts by name and kind of board."""
        found: dict[str, list[float]] = {}
        for entry in await self._redis.slowlog_get(MOST_NOTED):
            words = entry["command"].decode("utf-8", "replace").split(" ", 4)
            found.setdefault(_name(words), []).append(entry["duration"] / 1000)
        return found

    async def latency(self) -> dict[str, float]:
        """Milliseconds of the longest event of each kind."""
        events: Any = await self._redis.latency_latest()
        return {event[0].decode(): float(event[3]) for event in events}


SCRIPTS = {Script.load(file.stem).sha: file.stem for file in (ROOT / "server/board").glob("*.lua")}


def _name(words: list[str]) -> str:
    """A command's name; a script's own, with what its first key is."""
    if words[0].upper() != "EVALSHA" or len(words) < 4:
        return words[0]
    board = "the board in the making" if ":rebuild:" in words[3] else "the live board"
    return f"{SCRIPTS.get(words[1], 'a script')} on {board}"


class Bench:
    """One run of the benchmark."""

    def __init__(self, size: Size, say: Say) -> None:
        self.size, self.say = size, say

    async def run(self) -> list[Run]:
        """Fill a board, then rebuild it under load."""
        async with AsyncExitStack() as open_:
            self.say("starting")
            stack = await open_.enter_async_context(services())
            prefer(stack)
            archive = await open_.enter_async_context(archive_of(stack))
            season = running_season(1, "best")
            population = Population(season, self.size.players)
            await archive.migrate()
            await archive.create_season(season)
            await self._fill(archive, season, population)
            self.say("its board")
            web, *_ = [
                await open_.enter_async_context(rankcast(stack, roles, **NO_ROUNDS)) for roles in PROCESSES
            ]
            await stack.create_board(season)
            await stack.age_board(season)
            patient = stack.settings.model_copy(update={"delivery_timeout_s": DELIVERY_SECONDS})
            producer = ResultProducer(patient, Metrics())
            await producer.start()
            open_.push_async_callback(producer.stop)
            runs = []
            for number in range(self.size.runs):
                self.say(f"rebuild {number + 1} of {self.size.runs}")
                async with viewing(web.url, season, len(population.players)) as view:
                    runs.append(await rebuilt(stack, archive, (producer, population), view))
            return runs

    async def _fill(self, archive: Archive, season: Season, population: Population) -> None:
        """A result of every player in PostgreSQL, from a log that has been left: boards begin with those."""
        self.say(f"{len(population.players):,} players")
        log = await archive.log_number(LogIdentity("filled", "match-results", ""))
        at = await archive.hold(log, 0, 0)
        dice = np.random.default_rng(4)
        for players in np.array_split(population.players, len(population.players) // FILL_AT_ONCE + 1):
            points = dice.lognormal(3.0, 1.0, len(players)).astype(np.int64) + 1
            rows = [
                (
                    offset,
                    Result(str(uuid.uuid4()), player, season.season_id, score, season.starts_us + offset),
                )
                for offset, (player, score) in enumerate(
                    zip(players.tolist(), points.tolist(), strict=True), at
                )
            ]
            await archive.store(log, 0, at, at + len(rows), rows)
            at += len(rows)


def prefer(stack: Stack) -> None:
    """Let Valkey run whenever it can: its times are of its work then, not of what else the machine does."""
    (pid,) = [service.pid for service in stack.services if service.name == "Valkey"]
    with suppress(OSError, AttributeError):  # not allowed, or not Linux: then its times are of the queue, too
        os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(1))


async def rebuilt(stack: Stack, archive: Archive, load: tuple[ResultProducer, Population], view: View) -> Run:
    """One rebuild of season 1 under load."""
    watch = Watch(stack.settings.redis_url or "")
    async with loaded(*load, archive) as sent:
        await asyncio.sleep(1)
        await watch.begin()
        began, before = time.monotonic(), sum(sent)
        players, seconds = await command(stack)
        rate = (sum(sent) - before) / (time.monotonic() - began)
        await asyncio.sleep(3)  # the viewer has the new board by then, the old one's memory is given back
        calls, latency = await watch.calls(), await watch.latency()
        checked = {name: await check(stack, name) for name in ("audit", "reconcile")}
        return Run(players, seconds, calls, latency, rate, view, checked)


async def command(stack: Stack) -> tuple[int, float]:
    """Players and seconds, as `rankcast rebuild 1` tells them."""
    code, told = await rankcast_command(stack, "rebuild")
    found = re.search(r"rebuilt: (\d+) players in ([\d.]+) s", told)
    if code or found is None:
        raise RuntimeError(f"the rebuild failed, see above: {told}")
    return int(found[1]), float(found[2])


async def check(stack: Stack, name: str) -> float:
    """Seconds of an audit or a reconcile beside the same load, which has to find everything equal."""
    code, told = await rankcast_command(stack, name)
    found = re.search(r"in ([\d.]+) s", told)
    if code or found is None:
        raise RuntimeError(f"{name} ended with {code}: {told}")
    return float(found[1])


async def rankcast_command(stack: Stack, name: str) -> tuple[int, str]:
    """Exit code and output of `rankcast NAME 1`."""
    settings = stack.settings
    names = {
        "REDIS_URL": settings.redis_url or "",
        "DATABASE_URL": settings.database_url or "",
        "KAFKA_BOOTSTRAP_SERVERS": settings.kafka_bootstrap or "",
        "RANKCAST_CUT_WAIT_S": "300",  # persist may be that late where all cores are busy
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server", name, "1"),
        cwd=ROOT,
        env=os.environ | names,
        stdout=PIPE,
        start_new_session=True,
    )
    told, _ = await process.communicate()
    return process.returncode or 0, told.decode()


def run(quick: bool, say: Say) -> list[Table]:
    """Rebuild a board of a million players, once where it has to be `quick`."""
    size = QUICK if quick else FULL
    return [table(size, asyncio.run(Bench(size, say).run()))]


def table(size: Size, runs: list[Run]) -> Table:
    """What the rebuilds took, and what was seen of them."""
    made = Table(f"A rebuild of {size.players:,} players beside {RESULTS_S:,} results a second", COLUMNS)
    made.add("time", spread([run.seconds for run in runs], " s", 1))
    made.add("players a second", spread([run.players / run.seconds for run in runs], "/s"))
    made.add("results sent meanwhile", spread([run.sent_s for run in runs], "/s"))
    for name in sorted({name for run in runs for name in run.calls_ms}):
        noted = [run.calls_ms.get(name, [0.0]) for run in runs]
        made.add(f"slowest {name}", spread([max(calls) for calls in noted], " ms", 1))
        slow = [sum(call > SLOW_MS for call in calls) for calls in noted]
        made.add(f"above {SLOW_MS:g} ms: {name}", spread(slow), f"of {sum(map(len, noted)):,} noted")
    for name in sorted({name for run in runs for name in run.latency_ms}):
        made.add(
            f"longest `{name}` by LATENCY", spread([run.latency_ms.get(name, 0.0) for run in runs], " ms")
        )
    for kind in ("season", "snapshot", "stale"):
        made.add(f"frames `{kind}` at a viewer", spread([run.view.types[kind] for run in runs]))
    faults = [fault for run in runs for fault in run.view.faults]
    for name in ("audit", "reconcile"):
        made.add(
            f"{name} beside the same load: equal, in", spread([run.checked_s[name] for run in runs], " s", 1)
        )
    made.add("empty or partial boards at a viewer", spread([len(run.view.faults) for run in runs]))
    made.rows = [(*row, "")[:3] for row in made.rows]
    made.notes += [f"Calls of Redis above {NOTED_US / 1000:g} ms are noted; the bound is {SLOW_MS:g} ms."]
    made.notes += faults[:3]
    return made
