"""Game servers: results at a steady rate straight into Kafka, each sent until it is acknowledged.

Knows what was sent and what was acknowledged. Now and then a match that was acknowledged is sent again, some
of those with other points: the record that came first is the one that counts.
"""

import asyncio
import random
import time
import uuid
from collections.abc import Collection, Sequence
from dataclasses import replace

from server.core.results import Result, result_value
from server.core.season import Season
from server.errors import RankcastError
from server.feed.partitioner import partition_of
from server.feed.producer import ResultProducer
from server.metrics import Metrics
from server.settings import Settings
from tests.waiting import until

TICK_SECONDS = 0.05
PLAYERS = 400
RETRIES = 0.03  # of what is sent
AT_ONCE = 40  # sends on their way; more wait, as game servers do

Key = tuple[str, int, int]  # match, player, season


def key_of(result: Result) -> Key:
    """What makes a result one and the same."""
    return result.match_id, result.player_id, result.season_id


class Feeder:
    """Reports results of all `seasons` in turn; `rate` a second once it runs."""

    def __init__(
        self, settings: Settings, seasons: Sequence[Season], *, partitions: int, rate: float = 2000.0
    ) -> None:
        self.rate = rate
        self.sent: dict[Key, Result] = {}  # the payload that was sent first
        self.acknowledged: dict[Key, Result] = {}
        self.retried = 0
        self.failures = 0  # sends that Kafka did not acknowledge and that were sent again
        self.seals: list[Key] = []
        self._seasons = list(seasons)
        self._partitions = partitions
        self._producer = ResultProducer(settings, Metrics())
        self._random = random.Random(7)
        self._players = [self._random.randrange(-(2**40), 2**40) for _ in range(PLAYERS)]
        self._recent: list[Result] = []
        self._forgotten: set[Key] = set()
        self._sending: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(AT_ONCE)
        self._feeding: asyncio.Task[None] | None = None

    @property
    def feeds(self) -> bool:
        """Whether it is at work: after `start`, before `finish`."""
        return self._feeding is not None

    def start(self) -> None:
        """Begin, or go on after `finish`."""
        self._feeding = asyncio.create_task(self._feed())

    async def more(self, results: int, *, within: float = 30.0) -> None:
        """Wait until so many more results have been acknowledged."""
        wanted = len(self.acknowledged) + results
        await until(lambda: self._alive() and len(self.acknowledged) >= wanted, within=within)

    async def finish(self, *, within: float = 60.0) -> None:
        """Report nothing new; return when all is acknowledged, with a last record in each partition."""
        await self._halt()
        await until(lambda: not self._sending, within=within)
        seals = [self._seal(season, partition) for season in self._seasons for partition in self._numbers]
        self.seals = [key_of(seal) for seal in seals]
        self._send(seals)
        await until(lambda: not self._sending, within=within)

    def make(self, season: Season, count: int) -> list[Result]:
        """New results of a season for somebody else to send, who tells of those that arrived."""
        results = [self._result(season, self._random.choice(self._players), 1) for _ in range(count)]
        self.sent |= {key_of(result): result for result in results}
        return results

    def acknowledge(self, results: Sequence[Result]) -> None:
        """These have been taken: they have to count."""
        self.acknowledged |= {key_of(result): result for result in results}

    def forget(self, lost: Collection[Key]) -> None:
        """The log that alone held these is gone: they do not count, but for a retry that is on its way."""
        for key in lost:
            self.acknowledged.pop(key, None)
        self._forgotten |= set(lost)
        self._recent = [result for result in self._recent if key_of(result) not in self._forgotten]

    async def report(self, season_id: int, points: int) -> Result:
        """Report one result with these points; return it when it has been acknowledged."""
        [season] = [season for season in self._seasons if season.season_id == season_id]
        result = self._result(season, self._random.choice(self._players), points)
        self.sent[key_of(result)] = result
        await self._insist([result])
        return result

    async def close(self) -> None:
        """End, whatever is on its way."""
        await self._halt()
        for task in self._sending:
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        await self._producer.stop()

    @property
    def _numbers(self) -> range:
        return range(self._partitions)

    def _alive(self) -> bool:
        if self._feeding is not None and self._feeding.done():
            self._feeding.result()
        return True

    async def _halt(self) -> None:
        feeding, self._feeding = self._feeding, None
        if feeding is not None:
            feeding.cancel()
            for ended in await asyncio.gather(feeding, return_exceptions=True):
                if isinstance(ended, Exception):
                    raise ended

    async def _feed(self) -> None:
        began, made = time.monotonic(), 0
        while True:
            await self._room.acquire()  # given back by the send's end
            due = int((time.monotonic() - began) * self.rate) - made
            if due > self.rate:  # it could not keep up: go on from here, never as a burst
                began, made, due = time.monotonic(), 0, int(self.rate * TICK_SECONDS)
            made += due
            self._send([self._next() for _ in range(due)], release=True)
            await asyncio.sleep(TICK_SECONDS)

    def _send(self, results: Sequence[Result], *, release: bool = False) -> None:
        for result in results:
            self.sent.setdefault(key_of(result), result)
        task = asyncio.create_task(self._insist(results))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
        if release:
            task.add_done_callback(lambda _task: self._room.release())

    async def _insist(self, results: Sequence[Result]) -> None:
        """Send until Kafka acknowledges: what a game server does, whose earlier try may have arrived."""
        records = [(b"%d" % result.player_id, result_value(result)) for result in results]
        while True:
            try:
                await self._producer.send(records)
                break
            except RankcastError:
                self.failures += 1
                await asyncio.sleep(0.2)
        for result in results:
            key = key_of(result)
            if key in self._forgotten:  # of what there is now, it came first
                self._forgotten.discard(key)
                self.sent[key] = result
            if self.acknowledged.setdefault(key, result) is result:
                self._recent.append(result)
        del self._recent[:-5000]

    def _next(self) -> Result:
        chance = self._random.random()
        if self._recent and chance < RETRIES:
            self.retried += 1
            again = self._random.choice(self._recent)
            points = again.points if chance < RETRIES / 2 else self._random.randrange(1000)
            return replace(again, points=points)
        season = self._seasons[len(self.sent) % len(self._seasons)]
        highest = 1000 + len(self.sent) // 10  # so that a board of the best keeps moving
        return self._result(season, self._random.choice(self._players), self._random.randrange(highest))

    def _result(self, season: Season, player: int, points: int) -> Result:
        match = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        achieved_us = time.time_ns() // 1000 - self._random.randrange(5_000_000)
        return Result(match, player, season.season_id, points, achieved_us)

    def _seal(self, season: Season, partition: int) -> Result:
        players = (player for player in range(10_000) if self._partition(player) == partition)
        return self._result(season, next(players), 0)

    def _partition(self, player: int) -> int:
        return partition_of(b"%d" % player, self._partitions)
