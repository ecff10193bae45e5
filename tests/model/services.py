"""Redis and PostgreSQL as the machine uses them: real ones, whose clocks and run id the schedule sets.

Owns: the clock of each service, behind names that scripts and queries use anyway; copies of all keys, to go
back to; an empty database for each schedule. The text of a script is the server's own, with one line before
it.
Never does: decide when what happens. Neighbours: `world.py` uses it, `search.py` opens one a process.
"""

import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import sha1
from typing import Any
from unittest import mock

import asyncpg
import structlog
from redis.asyncio import Redis
from redis.asyncio.lock import Lock
from redis.exceptions import NoScriptError

from server.archive.catalog import SeasonCatalog
from server.archive.store import Archive
from server.board import scripts
from server.board.keys import BoardKeys
from server.board.scripts import Script
from server.board.store import BoardStore
from server.core.log_identity import LogIdentity
from server.core.season import Season
from server.metrics import Metrics
from server.settings import Settings
from tests.model.clock import BEGINS_S, Clock
from tests.model.gated import GatedDatabase, GatedRedis, ListArchive, gated_chunks, gated_snapshot_totals
from tests.model.gates import pause
from tests.model.log import MOST_LOGS, PARTITIONS, ListReader, ListWatch, NoReport, Rejected, Topic
from tests.model.resp import Wire
from tests.model.texts import (
    BEGIN,
    BLOCKED_SQL,
    CLOCK_SQL,
    COPY,
    OBSERVE,
    PASS,
    PRELUDE,
    RESTORE,
    TRIGGERS_SQL,
)

LIFE_S = 3600

SCRIPTS = ("submit", "load_chunk", "finish_load", "swap", "remove")
LOCK_SCRIPTS = (Lock.LUA_RELEASE_SCRIPT, Lock.LUA_EXTEND_SCRIPT, Lock.LUA_REACQUIRE_SCRIPT)

Mutate = Callable[[str, str], str]
"""From a Lua file's name and text to the text that is to run."""


@dataclass
class Services:
    """What one process of the machine works with, one schedule after another."""

    settings: Settings
    metrics: Metrics
    clock: Clock
    topic: Topic
    redis: Redis
    archive: Archive
    catalog: SeasonCatalog
    boards: BoardStore
    seasons: list[Season]
    sql: "asyncpg.Connection[asyncpg.Record]"
    schedules: int = 0
    forgotten: bool = True  # whether the server has to be told the scripts

    async def eval(self, text: str, *args: str | int) -> Any:
        """Run a script of the machine's."""
        try:
            return await self.redis.evalsha(_sha(text), 0, *args)
        except NoScriptError:
            return await self.redis.eval(text, 0, *args)

    async def begin(self, settled: bool) -> None:
        """Everything as a schedule begins: log 1 held from 0, no rows, and the boards of database 3.

        `settled`: their rebuild is longer ago than markers live.
        """
        self.clock.now_s = BEGINS_S
        self.topic.reset()
        if self.forgotten:  # how often a role has to send a script must not depend on the schedule before
            for text in [*(Script.load(name).text for name in SCRIPTS), *LOCK_SCRIPTS]:
                await self.redis.script_load(text)
            self.forgotten = False
        self.schedules += 1
        tables = [
            f"{table}_s{season.season_id}"
            for season in self.seasons
            for table in ("match_results", "player_totals")
        ]
        empty = "; ".join(f"DELETE FROM {table}" for table in tables)
        if self.schedules % 100 == 0:
            empty = f"TRUNCATE {', '.join([*tables, 'persist_offsets'])}"
        held = ", ".join(f"(1, {partition}, 0)" for partition in range(PARTITIONS))
        await self.sql.execute(
            f"{empty}; DELETE FROM persist_offsets; UPDATE machine.clock SET at = {BEGINS_S}; "
            "UPDATE seasons SET resets = 0 WHERE resets > 0; "
            "UPDATE logs SET current_since = NULL, left_at = NULL WHERE current_since IS NOT NULL; "
            "UPDATE logs SET current_since = to_timestamp(0) WHERE log_id = 1; "
            f"INSERT INTO persist_offsets (log_id, log_partition, next_offset) VALUES {held}; "
            "DELETE FROM machine.history"
        )
        await self.catalog.refresh()
        settle = [BoardKeys(season.season_id).meta for season in self.seasons] if settled else []
        await self.eval(BEGIN, BEGINS_S, *settle)

    async def copy(self, database: int) -> None:
        """Keep a copy of all keys."""
        await self.eval(COPY, database)

    async def restore(self, database: int, runs: int) -> None:
        """Go back to a copy, or to nothing, by a server whose run id is `runs` further."""
        await self.eval(RESTORE, database, runs)

    async def forget_scripts(self) -> None:
        """SCRIPT FLUSH."""
        await self.redis.script_flush()
        self.forgotten = True

    async def is_blocked(self) -> bool:
        """Whether one of PostgreSQL's sessions waits for another."""
        found: bool = await self.sql.fetchval(BLOCKED_SQL)
        return found

    async def pass_time(self, seconds: int) -> None:
        """Let time pass: keys with an end come nearer to it."""
        self.clock.now_s += seconds
        await self.eval(PASS, seconds)
        await self.sql.execute(f"UPDATE machine.clock SET at = {self.clock.now_s}")

    async def observe(self, known: list[tuple[int, str, int]], seconds: int) -> Any:
        """Look at all boards, so much later; `known` names the position up to which events are known."""
        self.clock.now_s += seconds
        return await self.eval(OBSERVE, seconds, *[value for each in known for value in each])


@cache
def _sha(text: str) -> str:
    return sha1(text.encode(), usedforsecurity=False).hexdigest()


def _script(mutate: Mutate, load: Callable[[str], Script], name: str) -> Script:
    text = PRELUDE + mutate(name, load(name).text)
    return Script(name, text, _sha(text))


@contextlib.contextmanager
def patched(clock: Clock, topic: Topic, mutate: Mutate) -> Iterator[None]:
    """The server's modules with the list for Kafka, the machine's clock, and gates for waits."""
    reader = type("Reader", (ListReader,), {"topic": topic, "clock": clock})
    watch = type("Watch", (ListWatch,), {"topic": topic})

    async def read_identity(*_: object) -> LogIdentity:
        return topic.state.identity

    with contextlib.ExitStack() as stack:
        stack.callback(structlog.configure, **structlog.get_config())
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
        stand_ins = [
            *[(f"server.feed.{module}.LogReader", reader) for module in ("follow", "catch_up")],
            *[(f"server.feed.{module}.TopicWatch", watch) for module in ("follow", "catch_up")],
            *[(f"server.feed.{module}.Report", NoReport) for module in ("ingest_session", "persist_session")],
            *[
                (f"server.feed.{module}.time", clock)
                for module in (
                    "apply",
                    "board_watch",
                    "follow",
                    "ingest_session",
                    "persist_session",
                    "reader",
                )
            ],
            ("server.archive.logs.time", clock),
            *[(f"server.keeper.{module}.time", clock) for module in ("keeper", "rebuild")],
            ("server.feed.backoff.wait_or_stop", pause),
            ("server.keeper.keeper.wait_or_stop", pause),
            ("server.feed.persist.RejectedRecords", Rejected),
            ("server.board.rebuilds.REMOVE_WAIT_S", 0.0),
            ("server.feed.apply.PROBE_SECONDS", 0.0),
            ("server.feed.board_watch.LOOK_SECONDS", 1e6),
            ("server.feed.board_watch.LOST_LOOK_SECONDS", 1e6),
            ("server.keeper.rebuild.read_identity", read_identity),
            ("server.archive.totals.snapshot_totals", gated_snapshot_totals),
            ("server.archive.totals.TotalsSnapshot.chunks", gated_chunks),
            ("server.board.scripts.Script.load", partial(_script, mutate, scripts.Script.load)),
        ]
        for name, what in stand_ins:
            stack.enter_context(mock.patch(name, what))
        yield


def seasons() -> list[Season]:
    """Two seasons whose records share the log: `best` and `sum`, whose totals reach the maximum soon."""
    common = {
        "name": "Machine",
        "starts_at": "2026-01-01T00:00:00Z",
        "ends_at": "2027-01-01T00:00:00Z",
        "counts_from": "2026-01-01T00:00:00Z",
        "tick": "15 minutes",
        "points_bits": 3,
        "time_bits": 50,
    }
    return [
        Season.parse(common | {"season_id": number, "operator": operator}, 0)
        for number, operator in ((1, "best"), (2, "sum"))
    ]


@contextlib.asynccontextmanager
async def open_services(
    redis_url: str, database_url: str, mutate: Mutate = lambda _, text: text
) -> AsyncIterator[Services]:
    """Services on an empty Redis and an empty database of PostgreSQL, both of this process alone."""
    clock, topic = Clock(), Topic("results")
    settings = Settings(
        marker_life_s=LIFE_S,
        batch_max=2,
        rebuild_chunk=1,
        consumer_groups=False,
        kafka_bootstrap="list:1",
        pool_size=20,
        topic="results",
    )
    sql = await asyncpg.connect(database_url)
    name = await sql.fetchval("SELECT current_database()")
    await sql.execute(CLOCK_SQL)
    await sql.execute(f"ALTER DATABASE {name} SET search_path = machine, pg_catalog")
    await sql.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    await sql.close()
    sql = await asyncpg.connect(database_url)
    with patched(clock, topic, mutate):
        metrics = Metrics()
        archive = ListArchive(await GatedDatabase.connect(database_url, settings), settings, metrics)
        redis = GatedRedis()
        redis.wire = Wire(redis_url)
        try:
            await archive.migrate()
            for season in seasons():
                await archive.create_season(season)
            await sql.execute(TRIGGERS_SQL)
            catalog = SeasonCatalog(archive, lambda: 0.0)
            await catalog.refresh()
            identities = [replace(topic, number=number).state.identity for number in range(1, MOST_LOGS + 1)]
            archive.numbers = {
                identity: await Archive.log_number(archive, identity) for identity in identities
            }
            assert list(archive.numbers.values()) == [*range(1, MOST_LOGS + 1)]
            boards = BoardStore(redis, settings, metrics)
            yield Services(settings, metrics, clock, topic, redis, archive, catalog, boards, seasons(), sql)
        finally:
            await archive.close()
            await sql.close()
            redis.wire.close()
            await redis.aclose()
