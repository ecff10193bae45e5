"""The command line: names, options and help of every command, and the one way in which they fail.

Owns what people read: help, results, errors of one line (exit code 1; 2 where the call itself is wrong).
Never does the work: `commands/` do. Neighbours: `__main__.py` and the console script `rankcast` call `main`.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console

from server import __version__, logs
from server import settings as all_settings
from server.commands import located
from server.commands.located import CommandError, Located
from server.embedded.errors import EmbeddedError
from server.settings import Settings

T = TypeVar("T")

EXAMPLES = """
[bold]Try it[/bold]

  rankcast serve                          services, roles and a demo, all in one process

  rankcast season create season.json      a season of your own, while it runs

  rankcast replay results.jsonl.gz        its results, through Kafka

  rankcast doctor                         is everything set up as it should be?

Other commands find a running `serve` by its folder (RANKCAST_DATA_DIR, .rankcast). REDIS_URL, DATABASE_URL
and KAFKA_BOOTSTRAP_SERVERS name outside services instead. `rankcast settings` lists all settings.
"""

app = typer.Typer(
    name="rankcast",
    help="A leaderboard server that pushes: Kafka in, an exact board in Redis, every change on every socket.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
season_app = typer.Typer(
    help="Make, show and reset seasons.", no_args_is_help=True, rich_markup_mode="rich", add_completion=False
)
app.add_typer(season_app, name="season")

SeasonId = Annotated[int, typer.Argument(metavar="ID", min=1, help="the season's id")]


@app.command(
    epilog="Examples: `rankcast serve`, `rankcast serve --roles web,ingest --host 0.0.0.0`, "
    "`RANKCAST_DEMO=false rankcast serve --port 0`"
)
def serve(
    roles: Annotated[
        str, typer.Option(help="what this process does, with commas between; each role may run by itself")
    ] = "web,ingest,persist,keeper",
    host: Annotated[
        str | None, typer.Option(help="address to listen on [RANKCAST_HOST, 127.0.0.1]", show_default=False)
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="port; 0: a free one [RANKCAST_PORT, 8000]", show_default=False),
    ] = None,
) -> None:
    """Run Rankcast until Ctrl-C.

    Starts Valkey, PostgreSQL and a Kafka broker, each unless a variable names one (REDIS_URL, DATABASE_URL,
    KAFKA_BOOTSTRAP_SERVERS), then the roles: web answers and pushes, ingest moves results from Kafka into
    Redis, persist into PostgreSQL, keeper makes and mends boards. Prints the addresses and the API key.
    """
    from server.commands import serve as command

    options: dict[str, object] = {"host": host, "port": port}
    settings = _settings().model_copy(update={name: it for name, it in options.items() if it is not None})
    wanted = command.parse_roles(roles)
    _run(command.serve(settings, wanted, _out))


@season_app.command("create", epilog="Example: `rankcast season create season.json`")
def season_create(
    file: Annotated[Path, typer.Argument(metavar="FILE.json", help="the season's definition")],
) -> None:
    """Make a season; returns when its board can be subscribed to.

    The file holds season_id, name, starts_at, ends_at, and if need be operator ("best" or "sum"),
    points_bits, time_bits, tick ("1 second"), time_zone ("UTC"), counts_from, grace. The same definition
    again is fine.
    """
    from server.commands import season as command

    found = _located()
    found.need("database_url", "redis_url")
    _out(_run(command.create(found, file)))


@season_app.command("list")
def season_list() -> None:
    """List all seasons."""
    from server.commands import season as command

    _console().print(_run(command.listed(_located().need("database_url"))))


@season_app.command("show")
def season_show(season: SeasonId) -> None:
    """Print a season's definition, as `season create` takes it."""
    from server.commands import season as command

    _out(_run(command.shown(_located().need("database_url"), season)))


@season_app.command("reset")
def season_reset(
    season: SeasonId,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
) -> None:
    """Delete a season's results and its board, and start it anew."""
    from server.commands import season as command

    settings = _located().need("database_url", "redis_url")
    if not yes:
        typer.confirm(f"Delete all results of season {season}?", abort=True)
    _out(_run(command.reset(settings, season)))


@app.command(
    epilog="Examples: `rankcast replay results.jsonl.gz`, `rankcast replay results.jsonl --speed 2000`"
)
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines, plain or .gz: one record a line")],
    speed: Annotated[
        float | None,
        typer.Option(
            min=0.001, metavar="N", help="records a second; as fast as Kafka takes them where not given"
        ),
    ] = None,
) -> None:
    """Send a file of results into Kafka, every line a record with its bytes untouched.

    The key of a record is its player id, where its line has one. Ends when Kafka has acknowledged all.
    """
    from server.commands.replay import replay as command

    settings = _located().need("kafka_bootstrap")
    count = _run(command(settings, file, speed, Console(stderr=True)))
    _out(f"{count} records acknowledged by Kafka, topic {settings.topic}")


@app.command(epilog='Example: `rankcast names teams.json`, a file such as {"42": "Ada"}')
def names(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON object: player id to name")],
) -> None:
    """Give players names; boards on screen change at once."""
    from server.commands.names import save

    settings = _located().need("database_url", "redis_url")
    _out(f"{_run(save(settings, file))} names saved")


@app.command(epilog="Example: `rankcast rebuild 12`")
def rebuild(season: SeasonId) -> None:
    """Make a season's board anew from PostgreSQL, beside the live one, while results keep coming."""
    from server.commands.rebuild import rebuild as command

    settings = _located().need("database_url", "redis_url", "kafka_bootstrap")
    _out(_run(command(settings, season, Console(stderr=True))))


@app.command(epilog="Examples: `rankcast reconcile 12`, `rankcast reconcile 12 --repair`")
def reconcile(
    season: SeasonId,
    repair: Annotated[bool, typer.Option("--repair", help="put right what differs")] = False,
) -> None:
    """Compare a season's board with PostgreSQL, player by player, while results keep coming.

    The keeper does the same every hour (RANKCAST_RECONCILE_EVERY_S). Exit code 0 when nothing differs or all
    was repaired, 1 when differences remain, 2 when it could not be found out.
    """
    from server.commands import check as command

    found = _checked(
        lambda settings: command.reconcile(settings, season, Console(stderr=True), repair=repair)
    )
    command.show_round(found, _console())
    if found.left:
        raise typer.Exit(1)


@app.command(epilog="Example: `rankcast audit 12`")
def audit(season: SeasonId) -> None:
    """Prove that rows, totals and board are equal at one position in the log; stops nothing.

    Prints the SHA-256 of the board as Redis and as PostgreSQL made it. `GET /seasons/ID/leaderboard/audit`
    tells the last audit. Exit code 0 when all is equal, 1 when it is not, 2 when it could not be found out.
    """
    from server.commands import check as command

    record = _checked(lambda settings: command.audit(settings, season, Console(stderr=True)))
    command.show_audit(record, _console())
    if not record.equal:
        raise typer.Exit(1)


@app.command()
def doctor() -> None:
    """Look at Redis, PostgreSQL, Kafka and the boards, and say what to do about each finding.

    Exit code 1 when something is wrong.
    """
    from server.commands import doctor as command
    from server.commands.doctor_boards import examine_boards
    from server.commands.doctor_kafka import examine_kafka
    from server.commands.doctor_postgres import examine_postgres
    from server.commands.doctor_redis import examine_redis

    settings = _located().need("database_url", "redis_url", "kafka_bootstrap")
    parts = (
        ("Redis", "REDIS_URL", examine_redis),
        ("PostgreSQL", "DATABASE_URL", examine_postgres),
        ("Kafka", "KAFKA_BOOTSTRAP_SERVERS", examine_kafka),
        ("Boards", "each of REDIS_URL, DATABASE_URL and KAFKA_BOOTSTRAP_SERVERS", examine_boards),
    )
    if not command.show(_run(command.examine(settings, parts)), _console()):
        raise typer.Exit(1)


@app.command("settings")
def settings_table() -> None:
    """Print every setting with its default and meaning, as the README's table."""
    _out(all_settings.table())


def _version(asked: bool) -> None:
    if asked:
        _out(f"rankcast {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """What is the same for every command."""


def main() -> None:
    """Run the command line; a failure is one line on standard error and an exit code, never a traceback."""
    try:
        app()
    except CommandError as error:
        _fail(str(error), error.code)
    except EmbeddedError as error:
        _fail(str(error), 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever reads us has gone
        sys.exit(1)


def _settings() -> Settings:
    settings = located.settings()
    logs.set_up(settings.log_level, as_json=settings.log_json)
    return settings


def _located() -> Located:
    settings = located.settings()
    quiet = "warning" if settings.log_level == "info" else settings.log_level
    logs.set_up(quiet, as_json=settings.log_json)
    return located.locate(settings)


def _run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return located.plainly(lambda: runner.run(work))


def _checked(work: Callable[[Settings], Coroutine[Any, Any, T]]) -> T:
    """Run what compares the services; where that cannot be done the exit code is 2, for 1 is a difference."""
    try:
        return _run(work(_located().need("database_url", "redis_url")))
    except CommandError as error:
        raise CommandError(str(error), 2) from error


def _loop_factory() -> Any:
    try:
        import uvloop
    except ImportError:  # it does not exist for Windows
        return None
    return uvloop.new_event_loop


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 160, soft_wrap=True, highlight=False)


def _out(text: str) -> None:
    print(text, flush=True)  # noqa: T201  the command's output


def _fail(text: str, code: int) -> None:
    print(f"rankcast: {text}", file=sys.stderr)  # noqa: T201  the command's output
    sys.exit(code)
