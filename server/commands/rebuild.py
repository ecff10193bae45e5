"""`rankcast rebuild`: a season's board anew from PostgreSQL, with its progress.

Owns the progress bar and what is said at the end. Neighbours: `keeper/rebuild.py` does the work, beside the
keeper of a running stack: whoever comes second is refused.
"""

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from server.archive.catalog import SeasonCatalog
from server.archive.store import Archive
from server.board.connection import connect
from server.board.rebuilds import RebuildLost, RebuildRefused
from server.board.store import BoardStore
from server.commands.located import CommandError
from server.keeper import progress
from server.keeper.rebuild import LogNotCurrent, Rebuilder
from server.metrics import Metrics
from server.settings import Settings


async def rebuild(settings: Settings, season_id: int, console: Console) -> str:
    """Rebuild the board; what to tell. CommandError where somebody else does, or it cannot be done now."""
    metrics = Metrics()
    archive = await Archive.connect(settings.database_url or "", settings, metrics)
    redis = connect(settings.redis_url or "")
    try:
        boards = BoardStore(redis, settings, metrics)
        catalog = SeasonCatalog(archive, time.monotonic)
        rebuilder = Rebuilder(settings, metrics, archive, boards, catalog)
        with _bar(console) as bar:
            shown = bar.add_task(f"s{season_id}", total=0, rate=0)

            def tell(at: progress.Progress) -> None:
                bar.update(shown, description=at.step, completed=at.players, total=at.of, rate=at.per_second)

            report = await rebuilder.rebuild(season_id, tell)
    except (RebuildRefused, RebuildLost, LogNotCurrent) as error:
        raise CommandError(str(error)) from error
    finally:
        await redis.aclose()
        await archive.close()
    return f"board s{season_id} rebuilt: {report.players} players in {report.seconds:.1f} s"


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} players, {task.fields[rate]:,.0f}/s"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
