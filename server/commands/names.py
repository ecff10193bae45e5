"""`rankcast names`: a file of names into PostgreSQL and onto every screen."""

from pathlib import Path

from server.archive.store import Archive
from server.board.connection import connect
from server.commands.located import CommandError, read_file
from server.errors import RankcastError
from server.metrics import Metrics
from server.settings import Settings
from server.web.naming import parse_names, save_names
from server.web.problems import BadItemsError


async def save(settings: Settings, path: Path) -> int:
    """Save every name of the file, or none; return how many. CommandError names the first bad one."""
    try:
        names = parse_names(read_file(path))
    except BadItemsError as error:
        first = error.errors[0]
        raise CommandError(
            f"{path}: {error.reason}; the first: {first['index']!r}: {first['reason']}"
        ) from error
    except RankcastError as error:
        raise CommandError(f"{path}: {error.reason}") from error
    archive = await Archive.connect(settings.database_url or "", settings, Metrics())
    redis = connect(settings.redis_url or "")
    try:
        await archive.migrate()
        await save_names(archive, redis, names)
    finally:
        await redis.aclose()
        await archive.close()
    return len(names)
