"""A season that stands in PostgreSQL and on a board, each moved as a test likes, to be audited."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from redis.asyncio import Redis

from server.archive.catalog import SeasonCatalog
from server.archive.store import Archive
from server.board.batch import Asked
from server.board.keys import BoardKeys
from server.board.store import BoardStore
from server.core.results import Result
from server.core.season import Operator, Season
from server.keeper.rebuild import Rebuilder
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.archives import new_log
from tests.flow.boards import Maker, codes, make_season
from tests.waiting import until

KEYS = BoardKeys(12)


@dataclass
class BothSides:
    """Results go to one side or to both, at the offsets of one partition."""

    archive: Archive
    boards: BoardStore
    redis: Redis
    season: Season
    log: int
    maker: Maker
    settings: Settings = field(default_factory=Settings)

    async def store(self, results: Sequence[Result], start: int) -> None:
        """PostgreSQL reads these records."""
        rows = list(enumerate(results, start))
        await self.archive.store(self.log, 0, start, start + len(rows), rows)

    async def submit(self, results: Sequence[Result], start: int) -> list[int]:
        """The board reads these records."""
        asked = Asked(start, False, [False] * len(results))
        reply = await self.boards.submit(self.maker.batch(*results, start=start, asked=asked))
        assert reply.kind == "done", reply
        return codes(reply)

    async def submit_when_free(self, results: Sequence[Result], start: int) -> None:
        """The board reads these records, if need be after somebody's hold."""

        async def taken() -> bool:
            asked = Asked(start, False, [False] * len(results))
            return (
                await self.boards.submit(self.maker.batch(*results, start=start, asked=asked))
            ).kind == "done"

        await until(taken)

    async def both(self, *results: Result) -> None:
        """Both read these records, the next of the log."""
        start = (await self.archive.next_offsets(self.log))[0]
        await self.store(results, start)
        await self.submit(results, start)

    async def sql(self, statement: str, *args: object) -> None:
        """A hand writes in PostgreSQL."""
        async with self.archive._database.transaction() as connection:
            await connection.execute(statement, *args)


async def both_sides(
    archive: Archive, boards: BoardStore, redis: Redis, operator: Operator = "best", *, points_bits: int = 21
) -> BothSides:
    """An empty season whose board is there, both at offset 0 of partition 0."""
    season = make_season(operator, points_bits=points_bits)
    await archive.create_season(season)
    log = await new_log(archive)
    settings = Settings()
    catalog = SeasonCatalog(archive, time.monotonic)
    await Rebuilder(settings, Metrics(), archive, boards, catalog).rebuild(season.season_id)
    return BothSides(archive, boards, redis, season, log, Maker(season, log=log), settings)
