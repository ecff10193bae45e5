"""The demo: 150 years of football results, played through Kafka as if they happened now.

Owns season 1, its names, the pace, and where to go on: at the first result that PostgreSQL does not have. So
a restart goes on whatever the broker forgot, a result that was lost on its way is played again, and one that
was not is a repeat like any other, which changes nothing. Never touches a board.
"""

import asyncio
import gzip
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from importlib.resources import files
from typing import TypeVar

import orjson
import structlog

from server.archive.errors import SeasonDiffers
from server.archive.store import Archive
from server.core.results import RawResult, Result, parse_value, result_value
from server.core.season import Season
from server.errors import RankcastError
from server.feed.lane import Record
from server.feed.pace import Pace
from server.feed.producer import ResultProducer
from server.settings import Settings

log = structlog.get_logger(__name__)

SEASON_ID = 1
STEPS_A_SECOND = 20
RETRY_S = 1.0
_ASKED_AT_ONCE = 5_000
_NO_LOG, _NO_PARTITION = 0, -1  # a row read anywhere is a row

T = TypeVar("T")
SaveNames = Callable[[dict[int, str]], Awaitable[None]]


class Demo:
    """Plays the season once, from where it stands to its end, and then rests."""

    def __init__(
        self, settings: Settings, archive: Archive, producer: ResultProducer, save_names: SaveNames
    ) -> None:
        self._speed = settings.demo_speed
        self._archive, self._producer, self._save_names = archive, producer, save_names

    async def run(self, stop: asyncio.Event) -> None:
        """Play until `stop` is set; faults of PostgreSQL and Kafka are waited out."""
        playing = asyncio.create_task(self._play())
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((playing, stopping), return_when=asyncio.FIRST_COMPLETED)
            if playing.done():
                playing.result()
            await stopping
        finally:
            for task in (playing, stopping):
                task.cancel()
            with suppress(asyncio.CancelledError):
                await playing

    async def _play(self) -> None:
        results = await asyncio.to_thread(load_results)
        try:
            await _patiently(lambda: self._archive.create_season(load_season(time.time_ns() // 1_000)))
        except SeasonDiffers as error:
            log.warning("demo_left_out", season=SEASON_ID, reason=error.reason)
            return
        await _patiently(lambda: self._save_names(load_names()))
        first = await _patiently(lambda: self._first_missing(results))
        log.info("demo_plays", season=SEASON_ID, start=first, of=len(results), speed=self._speed)
        await self._send(results[first:])
        log.info("demo_finished", season=SEASON_ID, results=len(results))

    async def _first_missing(self, results: list[Result]) -> int:
        """The place of the first result that PostgreSQL does not have; their number when it has all."""
        for start in range(0, len(results), _ASKED_AT_ONCE):
            asked = [(it.match_id, it.player_id, 0) for it in results[start : start + _ASKED_AT_ONCE]]
            stored = (await self._archive.ask(_NO_LOG, _NO_PARTITION, SEASON_ID, asked)).elsewhere
            if False in stored:
                return start + stored.index(False)
        return len(results)

    async def _send(self, results: list[Result]) -> None:
        pace = Pace(self._speed)
        step = max(1, round(self._speed / STEPS_A_SECOND))
        for start in range(0, len(results), step):
            records: list[Record] = [
                (b"%d" % it.player_id, result_value(it)) for it in results[start : start + step]
            ]
            await pace.wait(len(records))
            await _patiently(partial(self._producer.send, records))


async def _patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Do the work, again and again while a service says that trying again helps."""
    while True:
        try:
            return await work()
        except RankcastError as error:
            if not error.kind.retry:
                raise
            log.warning("demo_waits", code=error.code, reason=error.reason)
            await asyncio.sleep(RETRY_S)


def load_season(created_us: int) -> Season:
    """The demo's season, created at `created_us`: goals of all matches added up, by the day."""
    definition = orjson.loads(_read("season.json"))
    return Season.parse({**definition, "season_id": SEASON_ID, "operator": "sum"}, created_us)


def load_names() -> dict[int, str]:
    """The teams by player id."""
    return {int(player): name for player, name in orjson.loads(_read("teams.json")).items()}


def load_results() -> list[Result]:
    """Every result in the order of its day, as one of the demo's season."""
    lines = gzip.decompress(_read("results.jsonl.gz")).splitlines()
    return [_of_the_demo(parse_value(line)) for line in lines]


def _of_the_demo(raw: object) -> Result:
    assert isinstance(raw, RawResult)  # the file is ours
    return Result(raw.match_id, raw.player_id, SEASON_ID, raw.points, raw.time)


def _read(name: str) -> bytes:
    return files("server.demo").joinpath("football", name).read_bytes()
