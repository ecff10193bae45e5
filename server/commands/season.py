"""`rankcast season …`: seasons are rows in PostgreSQL; the keeper makes their boards.

Owns what each subcommand does and says. Never makes a board by itself.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
from rich.table import Table

from server.archive.errors import SeasonDiffers
from server.archive.store import Archive
from server.board.connection import connect
from server.board.store import BoardStore
from server.commands.located import CommandError, Located, read_file
from server.core.exact_json import Fields, load_exact
from server.core.refusals import Refusal
from server.core.season import Season, SeasonInvalid
from server.metrics import Metrics
from server.settings import Settings

BOARD_SECONDS = 60.0
POLL_SECONDS = 0.1


async def create(found: Located, path: Path) -> str:
    """Create the season of the file and wait for its board; what to tell."""
    season = _parsed(path)
    settings = found.settings
    async with _archive(settings) as archive:
        try:
            created = await archive.create_season(season)
        except SeasonDiffers as error:
            raise CommandError(f"{path}: {error}") from error
    await _board_is_there(settings, season)
    done = "created" if created else "was there already, with the same definition"
    return f"season {season.season_id} ({season.name}) {done}; its board is {season.board}"


async def listed(settings: Settings) -> Table:
    """All seasons as a table."""
    async with _archive(settings) as archive:
        seasons = await archive.seasons()
    table = Table(box=None, pad_edge=False)
    for title in ("id", "name", "operator", "starts", "ends", "tick", "time zone"):
        table.add_column(title)
    for season in sorted(seasons, key=lambda season: season.season_id):
        told = season.definition()
        table.add_row(
            *(
                str(told[name])
                for name in ("season_id", "name", "operator", "starts_at", "ends_at", "tick", "time_zone")
            )
        )
    return table


async def shown(settings: Settings, season_id: int) -> str:
    """One season's definition as JSON."""
    async with _archive(settings) as archive:
        season = await _existing(archive, season_id)
    return orjson.dumps(season.definition(), option=orjson.OPT_INDENT_2).decode()


async def reset(settings: Settings, season_id: int) -> str:
    """Delete the season's results and its board; what to tell."""
    async with _archive(settings) as archive, _boards(settings) as boards:
        season = await _existing(archive, season_id)
        await archive.reset_season(season_id)
        await boards.rebuilds.remove_board(season_id)
    await _board_is_there(settings, season)
    return f"season {season_id} ({season.name}) is empty and starts anew"


def _parsed(path: Path) -> Season:
    definition = load_exact(read_file(path))
    if isinstance(definition, Refusal):
        raise CommandError(f"{path}: {definition.reason}")
    if isinstance(definition, Fields) and definition.twice is not None:
        raise CommandError(f"{path}: the field {definition.twice} stands there twice")
    try:
        return Season.parse(definition, time.time_ns() // 1_000)
    except SeasonInvalid as error:
        raise CommandError(f"{path}: {error.reason}") from error


async def _existing(archive: Archive, season_id: int) -> Season:
    season = await archive.season(season_id)
    if season is None:
        raise CommandError(f"there is no season {season_id}; `rankcast season list` shows those there are")
    return season


async def _board_is_there(settings: Settings, season: Season) -> None:
    """Wait until a keeper has made the board, so that it can be subscribed to."""
    async with _boards(settings) as boards:
        try:
            async with asyncio.timeout(BOARD_SECONDS):
                while await boards.position(season.season_id) is None:  # noqa: ASYNC110  made in another process
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            raise CommandError(
                f"season {season.season_id} is there, but no keeper has made its board within "
                f"{BOARD_SECONDS:g} s: does a process with the role keeper run?"
            ) from None


@asynccontextmanager
async def _archive(settings: Settings) -> AsyncIterator[Archive]:
    archive = await Archive.connect(settings.database_url or "", settings, Metrics())
    try:
        await archive.migrate()
        yield archive
    finally:
        await archive.close()


@asynccontextmanager
async def _boards(settings: Settings) -> AsyncIterator[BoardStore]:
    redis = connect(settings.redis_url or "")
    try:
        yield BoardStore(redis, settings, Metrics())
    finally:
        await redis.aclose()
