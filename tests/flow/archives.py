"""What the archive's tests share: seasons, results, and a log that is held."""

import uuid

from server.archive.results import Row, StoreReply
from server.archive.store import Archive
from server.core.log_identity import LogIdentity
from server.core.results import Result
from server.core.season import Season

DAY_US = 86_400_000_000
HOUR_US = 3_600_000_000


def season(season_id: int = 12, **changes: object) -> Season:
    """A season of January 2026 that counts records of any time up to its end."""
    definition: dict[str, object] = {
        "season_id": season_id,
        "name": "January",
        "starts_at": "2026-01-01T00:00:00Z",
        "ends_at": "2026-02-01T00:00:00Z",
        "counts_from": "1970-01-01T00:00:00Z",
    }
    return Season.parse(definition | changes, 0)


STARTS_US = season().starts_us


def match(number: int) -> str:
    """The match id of a number."""
    return str(uuid.UUID(int=number))


def result(number: int, player: int, points: int, second: float = 0, *, season_id: int = 12) -> Result:
    """A result of match `number`, achieved so many seconds after the season's start."""
    return Result(match(number), player, season_id, points, STARTS_US + round(second * 1_000_000))


async def new_log(archive: Archive, name: str = "A", partitions: int = 1) -> int:
    """A log that persist holds from offset 0, known by its cluster id."""
    log = await archive.log_number(LogIdentity(name, "match-results", ""))
    for partition in range(partitions):
        await archive.hold(log, partition, 0)
    return log


async def append(archive: Archive, log: int, *results: Result, partition: int = 0) -> StoreReply:
    """Store the results at the next offsets of the log; return what the store told."""
    start = (await archive.next_offsets(log))[partition]
    rows: list[Row] = list(enumerate(results, start))
    return await archive.store(log, partition, start, start + len(rows), rows)


async def board(archive: Archive, of: Season) -> list[tuple[int, int, float]]:
    """The season's board as SQL has it: player, points, and seconds after the start."""
    rows = await archive.top(of.season_id, 1_000)
    return [(row.player_id, row.points, (row.achieved_us - of.starts_us) / 1_000_000) for row in rows]
