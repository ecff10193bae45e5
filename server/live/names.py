"""Names of the players in watched rows: a cache that follows renames.

Owns: which names are known, when each was last learned or changed (`mark`), reading them from PostgreSQL in
batches, and the channel `lb:names`, on which whoever saves names tells all web processes.
Never does: keep a frame waiting: it carries the names that are known, and a view sends one that comes later.
Neighbours: the hub asks for names and prunes; `web` and `cli` call `announce` after they have saved names.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import orjson
import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from server.logs import Trouble
from server.metrics import Metrics
from server.settings import Settings

log = structlog.get_logger(__name__)

CHANNEL = "lb:names"
_BATCH = 5_000
_PAUSE_S = 1.0  # after a failure
_LISTEN_S = 5.0  # longest wait for a message: the connection is looked after in between


class NameStore(Protocol):
    """Where names stand."""

    async def names(self, ids: list[int]) -> dict[int, str]:
        """The names of those of the players who have one."""


async def announce(redis: Redis, names: Mapping[int, str]) -> None:
    """Tell every web process that these players have these names now; they have been saved already."""
    items = list(names.items())
    for start in range(0, len(items), _BATCH):
        part = {str(player): name for player, name in items[start : start + _BATCH]}
        await redis.publish(CHANNEL, orjson.dumps(part))


class Names:
    """The cache. `mark` rises with every change of it; both are read in the event loop without waiting."""

    def __init__(self, store: NameStore, redis: Redis, settings: Settings, metrics: Metrics) -> None:
        self._store, self._redis, self._metrics = store, redis, metrics
        self._refresh_s = settings.names_refresh_s
        self.mark = 0
        self._known: dict[int, tuple[str | None, int]] = {}
        self._wanted: set[int] = set()
        self._asked = asyncio.Event()
        self._answered = asyncio.Condition()
        self._listeners: list[Callable[[], None]] = []
        self._trouble = {part: Trouble(log) for part in ("store", "channel")}

    # -- what frames read

    def of(self, players: Iterable[int]) -> dict[int, str]:
        """The known names of these players; those nobody has asked about yet are read soon."""
        found: dict[int, str] = {}
        for player in players:
            entry = self._known.get(player)
            if entry is None:
                self._want(player)
            elif entry[0] is not None:
                found[player] = entry[0]
        return found

    def changed_at(self, player: int) -> int:
        """The mark at which the player's name was learned or changed; 0 where none is known."""
        entry = self._known.get(player)
        return 0 if entry is None or entry[0] is None else entry[1]

    def add_listener(self, listener: Callable[[], None]) -> None:
        """Have the listener called when names have come or changed."""
        self._listeners.append(listener)

    # -- what the hub asks

    def _want(self, player: int) -> None:
        self._wanted.add(player)
        self._asked.set()

    def all_known(self, players: Iterable[int]) -> bool:
        """Whether it is known of each of these players what their name is, or that there is none."""
        return self._known.keys() >= set(players)

    async def load(self, players: Iterable[int], within_s: float) -> None:
        """Have these names read; returns when they are known, or after `within_s` seconds."""
        missing = set(players) - self._known.keys()
        for player in missing:
            self._want(player)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s), self._answered:
                await self._answered.wait_for(lambda: self._known.keys() >= missing)

    def prune(self, watched: set[int]) -> None:
        """Keep these players' names alone."""
        self._known = {player: entry for player, entry in self._known.items() if player in watched}
        self._metrics.names_cached.set(len(self._known))

    def __len__(self) -> int:
        return len(self._known)

    # -- what comes in

    def learn(self, names: Mapping[int, str | None]) -> None:
        """Take names (None: there is none) as of now, and tell the listeners if any is news."""
        news = False
        for player, name in names.items():
            entry = self._known.get(player)
            if entry is None or entry[0] != name:
                self._known[player] = (name, self.mark + 1)
                news = news or name is not None or entry is not None
        self._metrics.names_cached.set(len(self._known))
        if news:
            self.mark += 1
            for listener in tuple(self._listeners):
                listener()

    async def run(self, stop: asyncio.Event) -> None:
        """Read what is asked for and follow renames until `stop` is set; a part that dies ends it loudly."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work()) for work in (self._read, self._follow, self._refresh)]
            await stop.wait()
            for task in tasks:
                task.cancel()

    async def _read(self) -> None:
        while True:
            await self._asked.wait()
            batch = list(self._wanted)[:_BATCH]
            try:
                found = await self._store.names(batch)
            except Exception as error:  # whatever PostgreSQL says, frames go on without names
                await self._failed("store", error)
                continue
            self._trouble["store"].over()
            self._wanted.difference_update(batch)
            if not self._wanted:
                self._asked.clear()
            self.learn({player: found.get(player) for player in batch})
            async with self._answered:
                self._answered.notify_all()

    async def _follow(self) -> None:
        while True:
            try:
                async with self._redis.pubsub(ignore_subscribe_messages=True) as channel:
                    await channel.subscribe(CHANNEL)
                    self._trouble["channel"].over()
                    while True:
                        message = await channel.get_message(timeout=_LISTEN_S)
                        if message is not None:
                            self._hear(message["data"])
            except (RedisError, OSError) as error:
                await self._failed("channel", error)

    def _hear(self, data: bytes | str) -> None:
        try:
            told = orjson.loads(data)
            names = {int(player): name for player, name in told.items() if isinstance(name, str)}
        except (ValueError, AttributeError) as error:
            log.warning("names_unreadable", error=str(error))
            return
        self.learn({player: name for player, name in names.items() if player in self._known})

    async def _refresh(self) -> None:
        """Read all again now and then: a message that was lost leaves a name old for so long at most."""
        while True:
            await asyncio.sleep(self._refresh_s)
            self._wanted.update(self._known)
            if self._wanted:
                self._asked.set()

    async def _failed(self, part: str, error: Exception) -> None:
        self._metrics.names_failures.labels(part=part).inc()
        told = f"{type(error).__name__}: {error}"
        self._trouble[part].warn("names_failed", type(error), part=part, error=told)
        await asyncio.sleep(_PAUSE_S)
