"""From the moment a result is handed to Kafka's client to the frame at a viewer's socket.

Owns the load (ordinary results at a steady rate, some of them of probe players who stand in the top 100) and
the reckoning. A probe player's total is a number that was never there before, so each sighting names the
result that made it; sender and viewers read one clock, which all processes of a machine share.
Neighbours: `viewers.py` holds the sockets in another process, `stack.py` runs everything.
"""

import asyncio
import gc
import multiprocessing
import time
import uuid
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

import numpy as np

from bench.load import PLAYERS, Population, Record, record, running_season
from bench.report import Say, Table, spread
from bench.stack import ROLES, CpuTimes, Rankcast, Stack, of_services, rankcast, services
from bench.viewers import Crowding, Seen, view
from server.board.connection import connect
from server.core.board_event import parse_event
from server.core.season import Season
from server.feed.producer import ResultProducer
from server.metrics import Metrics

RESULTS_S = 2_000
SOCKETS, LOOKERS, LIMIT = 1_000, 20, 100
PROBES, PROBES_S = 50, 40
PROBE_POINTS = 1_000_000
CHUNKS_S = 100
WARM_SECONDS, SETTLE_SECONDS = 3.0, 1.5


@dataclass(frozen=True)
class Size:
    """How much is measured: runs of so many seconds on a board of so many players, and by which processes."""

    runs: int
    seconds: float
    players: int
    setups: dict[str, list[str]]


TOGETHER = {"all roles in one process": [ROLES]}
APART = {"a process for each role": ["web", "ingest", "persist,keeper"]}
FULL = Size(3, 6.0, PLAYERS, TOGETHER | APART)
QUICK = Size(1, 3.0, PLAYERS // 5, TOGETHER)


@dataclass
class Probes:
    """Players whose totals count their results, and when each result was sent (monotonic ns)."""

    season: Season
    players: list[int]
    totals: dict[int, int] = field(default_factory=dict)
    sent: dict[tuple[int, int], int] = field(default_factory=dict)  # by player and total

    def debut(self) -> list[Record]:
        """Their first results, which put them on top."""
        return [self._record(player, PROBE_POINTS) for player in self.players]

    def next(self, number: int) -> Record:
        """The next result of the probe that is due, sent now."""
        player = self.players[number % len(self.players)]
        made = self._record(player, 1)
        self.sent[player, self.totals[player]] = time.monotonic_ns()
        return made

    def _record(self, player: int, points: int) -> Record:
        self.totals[player] = self.totals.get(player, 0) + points
        now_us = time.time_ns() // 1_000
        return record(self.season.season_id, str(uuid.uuid4()), player, points, now_us)


@dataclass
class Run:
    """One run's milliseconds, a number per probe (and viewer), and what it cost."""

    on_board: list[float]
    at_viewer: list[float]
    missing: int
    tick_ms: float
    frames_s: float
    frame_size: float
    cpu: dict[str, float]


async def send(producer: ResultProducer, population: Population, probes: Probes, seconds: float) -> None:
    """Send ordinary results and probes at their rates, in chunks, as they are due."""
    dice = np.random.default_rng()
    size = RESULTS_S // CHUNKS_S
    ordinary = population.matches(int(seconds * RESULTS_S))
    start, number, at = time.monotonic(), len(probes.sent), 0
    probe_at = start + dice.random() / PROBES_S
    async with asyncio.TaskGroup() as group:
        for chunk in range(int(seconds * CHUNKS_S)):
            await asyncio.sleep(max(0.0, start + chunk / CHUNKS_S - time.monotonic()))
            records = ordinary[at : at + size]
            at += size
            if time.monotonic() >= probe_at:
                probe_at += 2 * dice.random() / PROBES_S  # at any moment of a tick
                records[-1] = probes.next(number)
                number += 1
            group.create_task(producer.send(records))


class BoardListener:
    """Notes when each probe's result was told on the board's channel."""

    def __init__(self, players: Iterable[int]) -> None:
        self._players = set(players)
        self.seen: dict[tuple[int, int], int] = {}

    async def run(self, url: str, season: Season) -> None:
        """Listen until cancelled."""
        async with connect(url) as redis, redis.pubsub(ignore_subscribe_messages=True) as channel:
            await channel.subscribe(f"lb:{{{season.board}}}:events")
            async for message in channel.listen():
                now = time.monotonic_ns()
                event = parse_event(message["data"])
                for player, score in zip(event.players, event.scores, strict=True):
                    if player in self._players:
                        self.seen[player, season.codec.decode(score)[0]] = now


def reckon(probes: Probes, board: BoardListener, seen: Seen, seconds: float, cpu: dict[str, float]) -> Run:
    """Join what was sent with what was seen; who skips to a later total has seen the earlier ones."""
    first: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for viewer, player, points, at in seen.sightings:
        first.setdefault((viewer, player), []).append((points, at))
    viewers = {viewer for viewer, _ in first}
    late, missing = [], 0
    for (player, total), sent in probes.sent.items():
        for viewer in viewers:
            times = [at for points, at in first.get((viewer, player), ()) if points >= total]
            if times:
                late.append((min(times) - sent) / 1e6)
            else:
                missing += 1
    gaps = np.concatenate([np.diff(arrivals) for arrivals in seen.arrivals]) / 1e6
    return Run(
        on_board=[(at - probes.sent[key]) / 1e6 for key, at in board.seen.items() if key in probes.sent],
        at_viewer=late,
        missing=missing,
        tick_ms=float(np.median(gaps)),
        frames_s=seen.frames / seconds,
        frame_size=seen.size / max(1, seen.frames),
        cpu={name: used / seconds for name, used in cpu.items()},
    )


@asynccontextmanager
async def viewers(port: int, season: Season, players: list[int]) -> AsyncIterator[Connection]:
    """The process of the viewers, when all of them have their first frame."""
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    wanted = Crowding(port, season.board, LIMIT, SOCKETS, LOOKERS, players)
    process = context.Process(target=view, args=(theirs, wanted), daemon=True)
    process.start()
    theirs.close()
    try:
        assert await asyncio.to_thread(pipe.recv) == "ready"
        yield pipe
    finally:
        if process.is_alive():
            pipe.send("end")
        await asyncio.to_thread(process.join, 10)
        process.kill()


async def ask(pipe: Connection) -> Seen:
    """What the viewers have seen since they were asked last."""
    pipe.send("take")
    seen: Seen = await asyncio.to_thread(pipe.recv)
    return seen


async def measure(stack: Stack, processes: list[tuple[str, Rankcast]], size: Size, say: Say) -> list[Run]:
    """Fill a board, seat the viewers, and measure some runs."""
    season = running_season(1, "sum")
    await stack.create_board(season)
    population = Population(season, size.players)
    probes = Probes(season, [10**12 + number for number in range(PROBES)])
    producer = ResultProducer(stack.settings, Metrics())
    await producer.start()
    url = stack.settings.redis_url or ""
    board = BoardListener(probes.players)
    listening = asyncio.create_task(board.run(url, season))
    web = processes[0][1]
    runs = []
    try:
        say("filling a board")
        debut = [*population.debut(), *probes.debut()]
        for start in range(0, len(debut), 5_000):
            await producer.send(debut[start : start + 5_000])
        await filled(url, season, len(debut))
        await stack.age_board(season)
        async with viewers(int(web.url.rsplit(":", 1)[1]), season, probes.players) as pipe:
            say("warming up")
            await send(producer, population, probes, WARM_SECONDS)
            for number in range(size.runs):
                say(f"run {number + 1} of {size.runs}")
                await asyncio.sleep(SETTLE_SECONDS)
                probes.sent.clear()
                board.seen.clear()
                await ask(pipe)
                gc.collect()
                gc.freeze()  # a sender that pauses would be taken for a late frame
                times = CpuTimes([*of_services(stack), *((name, it.pid) for name, it in processes)])
                await send(producer, population, probes, size.seconds)
                cpu = times.used()
                await asyncio.sleep(SETTLE_SECONDS)
                runs.append(reckon(probes, board, await ask(pipe), size.seconds, cpu))
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await producer.stop()
    return runs


async def filled(url: str, season: Season, players: int) -> None:
    """Wait until so many players stand on the board."""
    async with connect(url) as redis:
        while await redis.zcard(f"lb:{{{season.board}}}") < players:  # noqa: ASYNC110  others fill it
            await asyncio.sleep(0.1)


async def one_setup(roles: list[str], size: Size, say: Say) -> list[Run]:
    """Runs with a process for each of `roles`, the first of which serves the viewers."""
    async with AsyncExitStack() as open_:
        say("starting")
        stack = await open_.enter_async_context(services())
        processes = [
            (own if len(roles) > 1 else "Rankcast", await open_.enter_async_context(rankcast(stack, own)))
            for own in roles
        ]
        return await measure(stack, processes, size, say)


def run(quick: bool, say: Say) -> list[Table]:
    """Measure with all roles in one process and, unless `quick`, with each in its own."""
    size = QUICK if quick else FULL
    found = [asyncio.run(one_setup(roles, size, say)) for roles in size.setups.values()]
    table = Table(
        f"Produce to frame: {RESULTS_S:,} results/s, {SOCKETS:,} sockets on the top {LIMIT}",
        ("", *size.setups),
    )
    for name, figures in rows(found).items():
        table.add(name, *figures)
    table.notes.append(
        f"Median (least to most) of {size.runs} runs of {size.seconds:g} s; {PROBES_S} probe results a "
        f"second, each seen by {LOOKERS} of the sockets. Sender and viewers run on the same cores."
    )
    return [table]


def rows(found: list[list[Run]]) -> dict[str, list[str]]:
    """The table's rows: a figure for each setup."""
    made: dict[str, list[str]] = {}
    for runs in found:
        figures = {
            "at the viewer, p50": [percentile(run.at_viewer, 50) for run in runs],
            "at the viewer, p99": [percentile(run.at_viewer, 99) for run in runs],
            "at the viewer, latest": [percentile(run.at_viewer, 100) for run in runs],
            "on the board in Redis, p50": [percentile(run.on_board, 50) for run in runs],
            "on the board in Redis, p99": [percentile(run.on_board, 99) for run in runs],
            "from frame to frame (tick)": [run.tick_ms for run in runs],
        }
        for name, values in figures.items():
            made.setdefault(name, []).append(spread(values, " ms"))
        made.setdefault("frames sent", []).append(spread([run.frames_s for run in runs], "/s"))
        made.setdefault("bytes a frame", []).append(spread([run.frame_size for run in runs]))
        made.setdefault("probes that some viewer never saw", []).append(
            spread([float(run.missing) for run in runs])
        )
        made.setdefault("of a core", []).append(
            ", ".join(
                f"{name} {np.median([run.cpu[name] for run in runs]) * 100:.0f} %" for name in runs[0].cpu
            )
        )
    return made


def percentile(values: list[float], percent: int) -> float:
    """The percentile of the values."""
    return float(np.percentile(values, percent))
