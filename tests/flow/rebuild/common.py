"""What tests of rebuilds share: results in PostgreSQL, what SQL makes of them, what must not stay behind."""

import time
from collections.abc import Callable

from redis.asyncio import Redis

from server.archive.catalog import SeasonCatalog
from server.archive.store import Archive
from server.board.keys import BoardKeys
from server.board.store import BoardStore
from server.core.results import Result
from server.core.season import Season
from server.keeper.progress import Progress
from server.keeper.rebuild import Rebuilder
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.archives import append
from tests.flow.boards import Maker

IDS = [-(2**63), -10, -1, 0, 1, 9, 10, 2**63 - 1]
KEYS = BoardKeys(12)


def make_rebuilder(
    settings: Settings, archive: Archive, boards: BoardStore, metrics: Metrics | None = None
) -> Rebuilder:
    return Rebuilder(settings, metrics or Metrics(), archive, boards, SeasonCatalog(archive, time.monotonic))


async def sql_order(archive: Archive, season: Season) -> list[tuple[int, int]]:
    """(player, score) from rank 1 on, as SQL orders them."""
    rows = await archive.top(season.season_id, 1_000_000)
    return [(row.player_id, season.codec.encode(row.points, row.achieved_us)) for row in rows]


async def fill(archive: Archive, log: int, season: Season, *, count: int = 40) -> list[Result]:
    """Results of all kinds of players, many with equal points and times, in PostgreSQL."""
    maker = Maker(season)
    results = [maker.result(IDS[n % 8], n * 7 % 5 if n > 4 else 0, at=n % 3) for n in range(count)]
    await append(archive, log, *results)
    return results


def gone() -> Callable[[Progress], None]:
    """A listener that fails the test: there is nothing to tell."""

    def listen(_: Progress) -> None:
        raise AssertionError("nothing should have been loaded")

    return listen


async def making(redis: Redis) -> list[str]:
    """Keys of boards in the making, and what else a rebuild leaves behind."""
    return sorted(str(key) for key in await redis.keys("*rebuild*"))
