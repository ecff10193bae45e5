"""The world of one schedule: game servers, processes, faults, and what must be true after all of it.

Owns: the steps. Each takes four small numbers, so that a schedule is a list of tuples which can be made at
random, shrunk and printed. Every process is a real role over gates (`gates.py`); a step lets one of them go
on.
Never does: make schedules (`schedule.py`), or judge: `truth.py` does.
"""

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

from redis.exceptions import RedisError

from server.archive.errors import ArchiveUnavailable
from server.board.keys import BoardKeys
from server.board.position import text
from server.board.rebuilds import RebuildRefused
from server.core.results import Result, result_value
from server.core.season import Season
from server.feed.ingest import Ingest
from server.feed.persist import Persist
from server.keeper.keeper import PASSING, Keeper
from server.keeper.rebuild import Rebuilder
from tests.model.gates import Process, pause
from tests.model.log import MOST_LOGS, PARTITIONS
from tests.model.oracle import Oracle, Place
from tests.model.services import LIFE_S, Services
from tests.model.truth import Truth, Wrong

QUARTER_S = LIFE_S // 4
MATCHES, PLAYERS = 3, 4
REST = ("read", "wait")
QUIET = {"append", "retry", "kill", "zombie", "copy", "trim", "new_log"}  # steps that touch no board
EMPTY = 9  # a database of Redis that holds nothing
MOST_ZOMBIES = 3
PLAYER_IDS = [9, 10, -10, 2**63 - 1]

Step = tuple[str, int, int, int, int]


class World:
    """Runs one schedule. `say` is told what happens."""

    def __init__(self, services: Services, say: Callable[[str], None] = lambda _: None) -> None:
        self._on = services
        self._say = say
        self._oracle = Oracle()
        self._sent: dict[tuple[int, int, int], list[Result]] = {}
        self._first: dict[tuple[int, int, int], int] = {}  # when a match was reported first: no retry that
        # tells something else is dated later
        self._latest: dict[tuple[int, int, int], int] = {}  # until when the same once more may be dated
        self._slots: dict[str, Process] = {}
        self._zombies: list[Process] = []
        self._ingests: dict[str, Ingest] = {}
        self._stop = asyncio.Event()
        self._truth = Truth(services, self._oracle, say)
        self._copied = False
        self._look_again = 0  # 1: a key is gone, which the call of a second later shows
        self._resetting: set[int] = set()
        self._stuck = False

    async def make_boards(self) -> None:
        """Let a keeper make both boards."""
        keeper = await self._process("keeper0")
        for _ in range(3):
            await self._round(keeper)
        await keeper.kill()

    async def play(self, steps: list[Step]) -> None:
        """Take the steps, drain, and compare. Raises Wrong."""
        try:
            for step in steps:
                self._say(" ".join(map(str, step)))
                await getattr(self, f"do_{step[0]}")(*step[1:])
                if step[0] not in QUIET:
                    await self._truth.observe()
            await self._drain()
        finally:
            for process in [*self._slots.values(), *self._zombies]:
                await process.kill()

    # -- game servers

    async def do_append(self, a: int, b: int, c: int, d: int) -> None:
        """A result of a match; one that was there already is a retry."""
        key = 1 + a % 2, b % MATCHES, (a // 2 + b) % PLAYERS
        now_us = self._on.clock.now_s * 1_000_000
        latest = self._first.get(key, now_us + 4 * QUARTER_S * 1_000_000)
        ages = (0, 1, 1, 2, 3, 5, 9, -3)
        achieved = min(now_us - ages[d % 8] * QUARTER_S * 1_000_000 + (c % 2) * 400_000, latest)
        points = (c * 3 + d) % 8 if c % 8 < 7 else 9
        match = str(uuid.UUID(int=key[1] + 1))
        self._send(key, Result(match, PLAYER_IDS[key[2]], key[0], points, achieved))

    async def do_retry(self, a: int, b: int, c: int, d: int) -> None:
        """A record again, byte by byte."""
        keys = sorted(self._sent)
        if not keys:
            return
        key = keys[(a * 8 + b) % len(keys)]
        fits = [result for result in self._sent[key] if result.achieved_us <= self._latest[key]]
        if fits:
            self._send(key, fits[c % len(fits)])

    def _send(self, key: tuple[int, int, int], result: Result) -> None:
        topic, now_us = self._on.topic, self._on.clock.now_s * 1_000_000
        partition = key[2] % PARTITIONS
        offset = topic.append(partition, str(result.player_id).encode(), result_value(result), now_us // 1000)
        self._sent.setdefault(key, []).append(result)
        self._first.setdefault(key, now_us)
        self._latest[key] = min(self._latest.get(key, 1 << 62), max(now_us, result.achieved_us))
        self._oracle.records.append((Place(topic.number, partition, offset), result))
        self._say(f"    {topic.number}:{partition}:{offset} {result}")

    # -- processes

    async def _process(self, name: str) -> Process:
        """The process of this name, started where there is none."""
        process = self._slots.get(name)
        if process is None or process.ended:
            process = self._slots[name] = Process(name, self._work(name))
            await self._settle(process)
        return process

    def _work(self, name: str) -> Callable[[], Coroutine[Any, Any, None]]:
        on, stop = self._on, self._stop

        async def on_lost(season: Season) -> None:
            await on.boards.report_lost(season.season_id)

        if name.startswith("ingest"):
            ingest = Ingest(on.settings, on.metrics, on.archive, on.catalog, on.boards, on_lost=on_lost)
            self._ingests[name] = ingest
            return lambda: ingest.run(stop)
        if name.startswith("persist"):
            persist = Persist(on.settings, on.metrics, on.archive, on.catalog, on_lost=on_lost)
            return lambda: persist.run(stop)
        keeper = Keeper(on.settings, on.metrics, on.archive, on.boards, on.catalog)
        return lambda: keeper.run(stop)

    NAMES = ("ingest0", "ingest1", "persist0", "keeper0", "ingest0", "persist1", "keeper1", "operator")

    async def do_run(self, a: int, b: int, c: int, d: int) -> None:
        """A process goes on until it would read or wait again."""
        self._on.topic.at_once = 1 + c
        if (process := await self._chosen(a)) is not None:
            await self._round(process)

    async def do_step(self, a: int, b: int, c: int, d: int) -> None:
        """A process goes on to its next gate."""
        self._on.topic.at_once = 1 + c
        if (process := await self._chosen(a)) is not None:
            for _ in range(1 + d % 3):
                await self._one(process, b)

    async def do_lose(self, a: int, b: int, c: int, d: int) -> None:
        """A process goes on to its next gate, but the reply of what it asks for gets lost."""
        self._on.topic.at_once = 1 + c
        process = await self._chosen(a)
        if process is not None and any(what not in REST for what in process.places):
            await self._one(process, b, lost=True)

    async def do_kill(self, a: int, b: int, c: int, d: int) -> None:
        """A process is killed; another one takes its place when it is its turn."""
        if (process := self._slots.pop(self.NAMES[a % 8], None)) is not None:
            await process.kill()

    async def do_zombie(self, a: int, b: int, c: int, d: int) -> None:
        """A process has lost its place to another one and does not know it."""
        name = self.NAMES[a % 8]
        if name in self._slots and len(self._zombies) < MOST_ZOMBIES:
            self._zombies.append(self._slots.pop(name))

    async def do_rise(self, a: int, b: int, c: int, d: int) -> None:
        """A zombie goes on."""
        if self._zombies:
            zombie = self._zombies[a % len(self._zombies)]
            if d % 2:
                await self._round(zombie)
            else:
                await self._one(zombie, b)

    async def do_rebuild(self, a: int, b: int, c: int, d: int) -> None:
        """The command `rebuild`."""
        await self._operate(lambda: self._rebuild(1 + a % 2))

    async def do_reset(self, a: int, b: int, c: int, d: int) -> None:
        """The command `season reset`."""
        self._resetting.add(1 + a % 2)
        await self._operate(lambda: self._reset(1 + a % 2))

    async def _operate(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        operator = self._slots.get("operator")
        if operator is None or operator.ended:
            self._slots["operator"] = Process("operator", work)
            await self._settle(self._slots["operator"])

    async def _rebuild(self, season_id: int) -> None:
        on = self._on
        with contextlib.suppress(RebuildRefused, *PASSING):
            await Rebuilder(on.settings, on.metrics, on.archive, on.boards, on.catalog).rebuild(season_id)

    async def _reset(self, season_id: int) -> None:
        """As often as it takes."""
        while True:
            with contextlib.suppress(RebuildRefused, RedisError, ArchiveUnavailable):
                await self._on.archive.reset_season(season_id)
                await self._on.boards.rebuilds.remove_board(season_id)
                await self._on.catalog.refresh()  # as every process does once a second
                self._resetting.discard(season_id)
                return
            await pause(self._stop, 0)

    async def _chosen(self, a: int) -> Process | None:
        name = self.NAMES[a % 8]
        return self._slots.get(name) if name == "operator" else await self._process(name)

    async def _one(self, process: Process, which: int, *, lost: bool = False) -> None:
        """Open one of the gates at which it stands."""
        if process.places:
            which %= len(process.places)
            self._say(
                f"    {process.name} goes on at {process.places[which]}{' (reply lost)' if lost else ''}"
            )
            process.open(which, lost=lost)
            await self._settle(process)

    async def _round(self, process: Process) -> None:
        """Open the gates at which it stands, and all others up to the next read or wait."""
        ingest = self._ingests.get(process.name)
        if ingest is not None and ingest._session is not None:
            ingest._session._watch.wake()  # a second has gone by
            await self._settle(process)
        for _ in range(len(process.places)):
            await self._one(process, 0)
        for _ in range(300):
            others = [which for which, what in enumerate(process.places) if what not in REST]
            if process.ended or not others:
                return
            await self._one(process, others[0])
        raise Wrong(f"{process.name} never comes to rest: {process.places}")

    async def _settle(self, process: Process) -> None:
        async def unblock() -> None:
            """Somebody holds a lock of PostgreSQL at a gate: let those who would commit go on first."""
            if not await self._on.is_blocked():
                return
            self._stuck = True
            others = [each for each in [*self._slots.values(), *self._zombies] if each is not process]
            committing = [each for each in others if "commit" in each.places]
            self._say(f"    {process.name} is blocked; {[(each.name, each.places) for each in others]}")
            for each in committing or others:
                if each.places:
                    each.open(each.places.index("commit") if committing else 0)

        await process.settle(unblock)
        if self._stuck:
            self._stuck = False
            for each in [*self._slots.values(), *self._zombies]:
                await each.settle(unblock)

    # -- faults

    async def do_copy(self, *_: int) -> None:
        """A copy of Redis is made."""
        await self._on.copy(1)
        self._copied = True

    async def do_failover(self, *_: int) -> None:
        """Redis is the copy now, by another server."""
        if self._copied:
            await self._on.restore(1, 1)

    async def do_empty(self, a: int, *_: int) -> None:
        """Redis is empty; after a restart, mostly."""
        await self._on.restore(EMPTY, 1 if a % 4 else 0)

    async def do_lose_key(self, a: int, b: int, c: int, d: int) -> None:
        """One key of a board, live or in the making, is gone."""
        self._look_again = 1
        season_id = 1 + a % 2
        rebuilds = sorted(map(text, await self._on.redis.smembers(BoardKeys(season_id).rebuilds)))
        making = bool(rebuilds and d % 2)
        keys = BoardKeys(season_id, rebuilds[0] if making else None)
        key = keys.board[b % 4]
        if await self._on.redis.delete(key) and not making and b % 4 in (0, 3):
            self._truth.damage(season_id)
        self._say(f"    {key}")

    async def do_flush_scripts(self, *_: int) -> None:
        """SCRIPT FLUSH."""
        await self._on.forget_scripts()

    async def do_time(self, a: int, *_: int) -> None:
        """Time passes, up to two lives of a marker."""
        await self._on.pass_time(QUARTER_S * (1, 1, 2, 2, 4, 4, 5, 8)[a % 8])

    async def do_hours(self, a: int, b: int, c: int, d: int) -> None:
        """Hours of calm, in which one ingest and one persist work all the time; then, mostly, a retry."""
        for _ in range(4 + a % 4):
            await self._on.pass_time(QUARTER_S)
            for name in ("persist0", "ingest0"):
                await self._round(await self._process(name))
        if b % 4:
            await self.do_retry(b, c, d, 0)

    async def do_new_log(self, *_: int) -> None:
        """The topic is deleted and made anew."""
        if self._on.topic.number < MOST_LOGS:
            self._on.topic.make_anew()

    async def do_trim(self, a: int, *_: int) -> None:
        """Retention takes what PostgreSQL has read."""
        topic, partition = self._on.topic, a % PARTITIONS
        stored = await self._on.sql.fetchval(
            "SELECT next_offset FROM persist_offsets WHERE log_id = $1 AND log_partition = $2",
            topic.number,
            partition,
        )
        topic.starts[partition] = max(topic.starts[partition], stored or 0)

    # -- the end

    async def _drain(self) -> None:
        """Zombies have their say, resets are finished; then everything must come to one end."""
        self._say("drain")
        for zombie in self._zombies:
            await self._round(zombie)
        await self._truth.observe()
        for zombie in self._zombies:
            await zombie.kill()
        self._zombies.clear()
        for name in ("ingest1", "persist1", "keeper1"):
            await self.do_kill(self.NAMES.index(name), 0, 0, 0)
        self._on.topic.at_once = 5000
        await self._on.pass_time(60)
        await self._on.catalog.refresh()
        for turn in range(25):
            await self._finish_operator()
            for name in ("persist0", "persist0", "keeper0", "ingest0", "ingest0"):
                await self._round(await self._process(name))
            await self._truth.observe(4)
            if await self._drained() and turn >= self._look_again:
                break
        else:
            raise Wrong(f"never drains: {[(each.name, each.places) for each in self._slots.values()]}")
        await self._truth.compare()

    async def _finish_operator(self) -> None:
        operator = self._slots.get("operator")
        if operator is not None and not operator.ended:
            await self._round(operator)
        elif self._resetting:
            await self.do_reset(min(self._resetting) - 1, 0, 0, 0)

    async def _drained(self) -> bool:
        topic = self._on.topic
        ends = dict(enumerate(topic.ends))
        operator = self._slots.get("operator")
        if self._resetting or (operator is not None and not operator.ended):
            return False
        if any(what != "wait" for what in self._slots["keeper0"].places):
            return False
        held = "SELECT log_partition, next_offset FROM persist_offsets WHERE log_id = $1"
        if {row[0]: row[1] for row in await self._on.sql.fetch(held, topic.number)} != ends:
            return False
        await self._on.catalog.refresh()
        seasons = await self._on.catalog.all()
        standings = await self._on.boards.standings([season.season_id for season in seasons])
        return all(
            not standing.lost
            and not standing.is_outdated(season)
            and standing.applied is not None
            and standing.applied.log == topic.number
            and {number: standing.applied.offsets.get(number, 0) for number in ends} == ends
            for season, standing in zip(seasons, standings, strict=True)
        )
