"""Runs mirrors in a test, and compares them with Redis."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from redis.asyncio import Redis

from server.board.connection import connect
from server.board.keys import BoardKeys
from server.core.season import Season
from server.live.mirror import Mirror
from server.live.mirrors import Mirrors
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.board_writer import BoardWriter
from tests.flow.boards import order
from tests.waiting import until


@dataclass
class Seasons:
    """The seasons that there are."""

    seasons: list[Season]

    async def get(self, season_id: int) -> Season | None:
        return next((season for season in self.seasons if season.season_id == season_id), None)


@dataclass
class Watched:
    """A mirror and what it said: every (epoch, version, stale word) that its listener was told of."""

    mirror: Mirror
    metrics: Metrics
    told: list[tuple[str | None, int, str | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mirror.add_listener(self._listen)

    def _listen(self) -> None:
        stale = self.mirror.stale
        self.told.append((self.mirror.epoch, self.mirror.version, stale[0] if stale else None))

    def rows(self) -> list[tuple[int, int]]:
        """(player, score) from rank 1 on."""
        players, scores = self.mirror.index.slice(1, self.mirror.total)
        return list(zip(players.tolist(), scores.tolist(), strict=True))

    def compare_with(self, writer: BoardWriter) -> list[tuple[str | None, int]]:
        """Compare every picture from now on with what Redis had at its position; returns the wrong ones."""
        wrong: list[tuple[str | None, int]] = []

        def compare() -> None:
            position = (self.mirror.epoch, self.mirror.version)
            if dict(self.rows()) != writer.history[position]:
                wrong.append(position)

        self.mirror.add_listener(compare)
        return wrong

    def stale_words(self) -> list[str]:
        """Every reason for which the mirror was stale, in order, each once in a row."""
        words = [word for _, _, word in self.told if word is not None]
        return [word for at, word in enumerate(words) if at == 0 or words[at - 1] != word]

    async def equals(self, redis: Redis) -> bool:
        """Whether the mirror is fresh and equals ZREVRANGE, member by member and score by score."""
        return self.mirror.stale is None and self.rows() == await order(redis, self.mirror.season)

    async def reaches(self, writer: BoardWriter, within: float = 10) -> None:
        """Wait until the mirror is fresh at the writer's position, and find its order equal to ZREVRANGE."""
        mirror = self.mirror
        position = (writer.epoch, writer.version)
        await until(
            lambda: mirror.stale is None and (mirror.epoch, mirror.version) == position, within=within
        )
        assert self.rows() == await order(writer.redis, mirror.season)

    def count(self, name: str, **labels: str) -> float:
        """The value of one of the process's metrics."""
        return self.metrics.registry.get_sample_value(f"rankcast_{name}", labels) or 0.0


@contextlib.asynccontextmanager
async def mirrors_of(
    url: str, *seasons: Season, **settings: object
) -> AsyncIterator[tuple[Mirrors, Metrics]]:
    """Running mirrors on the Redis at `url`, which look around every 0.2 s."""
    metrics = Metrics()
    chosen = Settings.model_validate({"mirror_check_s": 0.2, "mirror_timeout_s": 0.5} | settings)
    async with connect(url) as redis:
        mirrors, stop = Mirrors(chosen, metrics, redis, Seasons(list(seasons))), asyncio.Event()
        running = asyncio.create_task(mirrors.run(stop))
        try:
            yield mirrors, metrics
        finally:
            stop.set()
            await running


@contextlib.asynccontextmanager
async def watched(url: str, season: Season, **settings: object) -> AsyncIterator[Watched]:
    """The running mirror of one board."""
    async with mirrors_of(url, season, **settings) as (mirrors, metrics):
        yield Watched(await mirrors.open(season.board), metrics)


def channel_of(season: Season) -> str:
    return BoardKeys(season.season_id).events
