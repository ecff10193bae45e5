"""What a process of some roles is made of: resources opened in order, roles ready to run, state for requests.

Owns the joining: who gets what. Never runs a role (`crew.py` does) nor answers a request.
Neighbours: `app.py` holds it in its lifespan.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from server.archive.catalog import SeasonCatalog
from server.archive.errors import ArchiveUnavailable
from server.archive.store import Archive
from server.board.connection import connect
from server.board.self_check import SelfCheckFailed, self_check
from server.board.store import BoardStore
from server.core.season import Season
from server.demo.player import Demo
from server.errors import RankcastError, StartError
from server.feed.ends import LogEnds
from server.feed.ingest import Ingest
from server.feed.persist import Persist
from server.feed.producer import ResultProducer
from server.keeper.keeper import Keeper
from server.keeper.rounds import Rounds
from server.live.hub import Hub
from server.live.mirrors import Mirrors
from server.live.names import Names
from server.logs import Trouble
from server.metrics import Metrics
from server.settings import Settings, variable
from server.web.clock import ClockWatch
from server.web.crew import Run
from server.web.last_audits import LastAudits
from server.web.life import Life
from server.web.naming import save_names
from server.web.pulse import Pulse
from server.web.ready import Readiness
from server.web.search import NameSearch
from server.web.state import Process, Web
from server.web.submit import ResultWriter

log = structlog.get_logger(__name__)

ROLES = ("web", "ingest", "persist", "keeper")
START_SECONDS = 60.0  # how long a service that is not up yet is waited for
RETRY_SECONDS = 0.5
BOARDS_EVERY_S = 1.0

T = TypeVar("T")
Drain = Callable[[float], Awaitable[int]]


@dataclass(slots=True)
class Parts:
    """What was opened, by what is done with it."""

    process: Process
    web: Web | None = None
    roles: dict[str, Run] = field(default_factory=dict)
    drains: list[Drain] = field(default_factory=list)  # each waits so many seconds and tells what is left

    @property
    def state(self) -> dict[str, Any]:
        """The lifespan's state, a `State` where the process has the role web."""
        return {"process": self.process} | ({"web": self.web} if self.web else {})

    async def drain(self) -> None:
        """Bring what was acknowledged onto the boards and into PostgreSQL, then send viewers away."""
        loop, within = asyncio.get_running_loop(), self.process.settings.shutdown_grace_s
        deadline = loop.time() + within
        if self.web:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.web.writer.idle(), within)
        left = await asyncio.gather(*(drain(max(0.0, deadline - loop.time())) for drain in self.drains))
        for records in left:
            if records:
                log.warning("records_left", records=max(records, 0), known=records > 0, after_s=within)
        if self.web:
            await self.web.hub.shutdown()


@dataclass(frozen=True, slots=True)
class _Base:
    """What every role is given."""

    settings: Settings
    metrics: Metrics
    archive: Archive
    redis: Redis
    boards: BoardStore
    catalog: SeasonCatalog


@asynccontextmanager
async def opened(
    settings: Settings, roles: frozenset[str], life: Life, *, demo: bool
) -> AsyncIterator[Parts]:
    """Open what the roles need, and close it in the opposite order. Raises StartError."""
    readiness = Readiness()
    metrics = Metrics()
    parts = Parts(Process(settings, metrics, readiness, life.stopping))
    async with AsyncExitStack() as stack:
        base = await _base(stack, settings, metrics, life)
        parts.roles["seasons"] = base.catalog.run
        parts.roles["readiness"] = partial(readiness.run, metrics)
        metrics.marker_life.set(settings.marker_life_s)
        metrics.database_idle.set_function(lambda: base.archive.idle_connections)
        parts.roles["clock"] = ClockWatch(settings, metrics, base.redis).run
        reads_only = roles <= {"web"}  # answers from memory whatever becomes of the services
        readiness.add("postgres", partial(_ask_postgres, base.archive), needed=not reads_only)
        readiness.add("redis", partial(_ask_redis, base.redis), needed=not reads_only)
        if "web" in roles:
            ends = LogEnds(settings)
            stack.push_async_callback(ends.close)
            _add_web(parts, base, life, ends, demo=demo)
        if "ingest" in roles:
            ingest = _ingest(base)
            _add(parts, "ingest", ingest)
            parts.drains.append(ingest.drained)
        if "persist" in roles:
            persist = Persist(
                settings, metrics, base.archive, base.catalog, on_lost=partial(_report_lost, base)
            )
            _add(parts, "persist", persist)
            parts.drains.append(persist.drained)
        if "keeper" in roles:
            keeper = Keeper(settings, metrics, base.archive, base.boards, base.catalog)
            _add(parts, "keeper", keeper)
            rounds = Rounds(settings, metrics, base.archive, base.boards, base.redis)
            parts.roles["rounds"] = rounds.run
        yield parts


async def _base(stack: AsyncExitStack, settings: Settings, metrics: Metrics, life: Life) -> _Base:
    archive = await _patiently(life, lambda: Archive.connect(settings.database_url or "", settings, metrics))
    stack.push_async_callback(archive.close)
    await _patiently(life, archive.migrate)
    redis = connect(settings.redis_url or "")
    stack.push_async_callback(redis.aclose)
    await _patiently(life, redis.ping)
    try:
        await self_check(redis)
    except SelfCheckFailed as error:
        raise StartError(str(error)) from error
    boards = BoardStore(redis, settings, metrics)
    return _Base(settings, metrics, archive, redis, boards, SeasonCatalog(archive, time.monotonic))


async def _patiently(life: Life, work: Callable[[], Awaitable[T]]) -> T:
    """Do the work once its service is up; StartError after a while, or when the process is to stop."""
    deadline, trouble = time.monotonic() + START_SECONDS, Trouble(log)
    while True:
        try:
            return await work()
        except (ArchiveUnavailable, RedisError, OSError) as error:
            if life.stopping.is_set() or time.monotonic() > deadline:
                name = "database_url" if isinstance(error, ArchiveUnavailable) else "redis_url"
                raise StartError(f"{error} ({variable(name)} names the service)") from error
            trouble.warn("service_not_up_yet", type(error), reason=str(error))
            await asyncio.sleep(RETRY_SECONDS)


def _add_web(parts: Parts, base: _Base, life: Life, ends: LogEnds, *, demo: bool) -> None:
    settings, metrics = base.settings, base.metrics
    mirrors = Mirrors(settings, metrics, base.redis, base.catalog)
    names = Names(base.archive, base.redis, settings, metrics)
    hub = Hub(settings, metrics, mirrors, names)
    producer = ResultProducer(settings, metrics)
    save = partial(save_names, base.archive, base.redis)
    player = Demo(settings, base.archive, base.boards, producer, save) if demo else None
    parts.web = Web(
        base.catalog,
        base.archive,
        mirrors,
        hub,
        base.redis,
        ResultWriter(producer),
        Pulse(base.boards, ends),
        NameSearch(base.archive, settings, metrics),
        LastAudits(base.archive),
        player,
    )
    boards = _Boards(base.catalog, mirrors)
    parts.process.readiness.add("boards", boards.problem)
    parts.process.readiness.add("kafka", producer.problem, needed=False)  # reads need none
    parts.roles |= {
        "mirrors": mirrors.run,
        "names": names.run,
        "hub": hub.run,
        "boards": boards.run,
        "producer": partial(_produce, producer),
    }
    if player is not None:
        parts.roles["demo"] = partial(_until_stopping, life, player)


def _add(parts: Parts, name: str, role: Ingest | Persist | Keeper) -> None:
    async def problem() -> str | None:
        return role.problem

    parts.process.readiness.add(name, problem)
    parts.roles[name] = role.run


def _ingest(base: _Base) -> Ingest:
    on_lost = partial(_report_lost, base)
    return Ingest(base.settings, base.metrics, base.archive, base.catalog, base.boards, on_lost=on_lost)


async def _report_lost(base: _Base, season: Season) -> None:
    await base.boards.report_lost(season.season_id)


async def _ask_postgres(archive: Archive) -> str | None:
    await archive.current_log()
    return None


async def _ask_redis(redis: Redis) -> str | None:
    await redis.ping()
    return None


async def _produce(producer: ResultProducer, stop: asyncio.Event) -> None:
    """Connect early, so that the first result does not wait for it; send what is under way at the end."""
    starting = asyncio.create_task(producer.start())
    try:
        await stop.wait()
    finally:
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await producer.stop()


async def _until_stopping(life: Life, demo: Demo, _stop: asyncio.Event) -> None:
    """The demo is input like any other: it ends before everything else does."""
    await demo.run(life.stopping)
    await _stop.wait()


class _Boards:
    """Opens the boards of running seasons before anybody asks for them."""

    def __init__(self, catalog: SeasonCatalog, mirrors: Mirrors) -> None:
        self._catalog, self._mirrors = catalog, mirrors
        self._problem: str | None = "boards are being read"

    async def problem(self) -> str | None:
        """Why a board that should be served is not here yet."""
        return self._problem

    async def run(self, stop: asyncio.Event) -> None:
        """Look for running seasons again and again; one that nobody has asked for is opened all the same."""
        while not stop.is_set():
            try:
                self._problem = await self._open_running()
            except ArchiveUnavailable:  # which seasons run is as it was: what is open stays open
                log.debug("boards_not_looked_for")
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), BOARDS_EVERY_S)

    async def _open_running(self) -> str | None:
        now_us = time.time_ns() // 1_000
        problem = None
        for season in await self._catalog.all():
            if now_us < season.ends_us + season.grace_us:
                try:
                    await self._mirrors.open(season.board)
                except RankcastError as error:
                    problem = error.reason  # the others are opened all the same
        return problem
