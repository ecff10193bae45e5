"""`rankcast audit` and `rankcast reconcile`: progress while they look, what they found, and an exit code.

Owns what is printed. Exit codes: 0 all is equal (or has been repaired), 1 differences remain, 2 it could not
be found out. Neighbours: `keeper/audit.py` and `keeper/reconcile.py` do the work, beside a running keeper.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio import Redis
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from server.archive.audits import AuditRecord
from server.archive.store import Archive
from server.board.connection import connect
from server.board.store import BoardStore
from server.commands.located import CommandError
from server.keeper import audit as audits
from server.keeper import reconcile as rounds
from server.keeper.board_cut import NoBoard
from server.keeper.exact import CutImpossible
from server.keeper.findings import KINDS
from server.metrics import Metrics
from server.settings import Settings

IMPOSSIBLE = 2


@asynccontextmanager
async def _parts(settings: Settings) -> AsyncIterator[tuple[Metrics, Archive, BoardStore, Redis]]:
    metrics = Metrics()
    archive = await Archive.connect(settings.database_url or "", settings, metrics)
    redis = connect(settings.redis_url or "")
    logs = [logging.getLogger(module.__name__) for module in (audits, rounds)]
    for log in logs:
        log.disabled = True  # what they tell is printed
    try:
        yield metrics, archive, BoardStore(redis, settings, metrics), redis
    except (NoBoard, CutImpossible) as error:
        raise CommandError(str(error), IMPOSSIBLE) from error
    finally:
        for log in logs:
            log.disabled = False
        await redis.aclose()
        await archive.close()


async def audit(settings: Settings, season_id: int, console: Console) -> AuditRecord:
    """Audit the season; CommandError where it cannot be done now."""
    async with _parts(settings) as parts:
        with _bar(console) as bar:
            task = bar.add_task("reading the board", total=None)

            def tell(step: audits.Step) -> None:
                if step.of:
                    bar.update(task, description="comparing", completed=step.players, total=step.of)

            return await audits.Auditor(settings, *parts).audit(season_id, tell)


async def reconcile(settings: Settings, season_id: int, console: Console, *, repair: bool) -> rounds.Round:
    """Compare the season's board with PostgreSQL, and repair it; CommandError where it cannot be done now."""
    async with _parts(settings) as parts:
        with _bar(console) as bar:
            task = bar.add_task("reading the board", total=None)

            def tell(step: rounds.Step) -> None:
                counts = f"Redis {step.counts[0]:,} players, SQL {step.counts[1]:,}"
                bar.update(task, description=counts, completed=step.players, total=step.counts[1])

            return await rounds.Reconciler(settings, *parts).reconcile(season_id, repair=repair, on_step=tell)


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} compared"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def show_audit(record: AuditRecord, console: Console) -> None:
    """Print what an audit found."""
    applied = ", ".join(f"{partition}: {offset}" for partition, offset in sorted(record.applied.items()))
    facts = Table(show_header=False, box=None, pad_edge=False)
    facts.add_row("board", f"s{record.season_id}, epoch {record.epoch}, version {record.version}")
    facts.add_row("position", f"log {record.log_id}, next offset by partition: {applied}")
    facts.add_row("players", f"{record.players:,}, of {record.results:,} results, in {record.seconds:.1f} s")
    facts.add_row("SHA-256", f"{record.sha256_board}  by Redis")
    facts.add_row("", f"{record.sha256_sql}  by SQL")
    console.print(facts)
    if record.equal:
        console.print("Equal: every row, total, score and rank.")
        return
    console.print(f"NOT EQUAL: {sum(record.differences.values()):,} differences.")
    _show_differences(record.differences, record.examples, console)
    console.print(
        "`rankcast reconcile --repair` mends scores and totals, `rankcast rebuild` the whole board."
    )


def show_round(found: rounds.Round, console: Console) -> None:
    """Print what a round of reconcile found and did."""
    board = f"board s{found.season_id} at version {found.version}"
    console.print(f"{found.players:,} players of {board} compared in {found.seconds:.1f} s.")
    if not found.found:
        console.print("Equal.")
        return
    _show_differences(dict(found.findings.counts), found.findings.examples, console)
    told = f"{found.found:,} differences, {found.repaired:,} repaired, {found.left:,} left."
    remedy = " Repair them with --repair." if found.left and not found.repaired else ""
    if found.left > rounds.MOST_REPAIRS:
        remedy = " So many are a matter for `rankcast rebuild`."
    console.print(told + remedy)


def _show_differences(counts: dict[str, int], examples: list[str], console: Console) -> None:
    kinds = Table("kind", "count", "what it means", box=None, pad_edge=False)
    for kind, count in sorted(counts.items()):
        kinds.add_row(kind, f"{count:,}", KINDS[kind])
    console.print(kinds)
    for example in examples:
        console.print(f"  {example}", markup=False)
    unnamed = sum(counts.values()) - len(examples)
    if unnamed:
        console.print(f"  … and {unnamed:,} more")
