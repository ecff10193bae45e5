"""`make bench`: runs the benchmarks and prints their tables as Markdown. `python -m bench --help` tells more.

Owns which benchmarks there are, and their order. Measures nothing.
Neighbours: `apart.py` runs each in a process of its own; `report.py` has the form of what they hand back.
"""

import time
from enum import StrEnum
from typing import Annotated

import typer

from bench.apart import apart, interruptible
from bench.report import machine, progress


class Name(StrEnum):
    """The benchmarks, in the order in which they run; each is a module of this package."""

    INGEST = "ingest"
    LATENCY = "latency"
    FANOUT = "fanout"
    SUBMIT = "submit"
    ORDER = "order"
    MIRROR = "mirror"
    ARCHIVE = "archive"
    PAGE = "page"  # these alone, and only where they are named
    REBUILD = "rebuild"


def main(
    names: Annotated[
        list[Name] | None, typer.Argument(help="some of them; all but page and rebuild where none is named")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="smaller and fewer runs")] = False,
) -> None:
    """Run benchmarks, each on services that it starts and stops itself; print their tables as Markdown.

    ingest: results a second from Kafka to Redis with everything on, beside the naive way.

    latency: from produce to the frame at a viewer.

    fanout: CPU of a frame, memory of a viewer.

    submit: what a result costs in Redis.

    order: ranks in memory.

    mirror: a big board, read and followed.

    archive: results in PostgreSQL.

    page, where it is named: the live board in Chromium.

    rebuild, where it is named: a board of a million players made anew under load.
    """
    interruptible()
    began, failed = time.monotonic(), []
    arguments = " ".join([*(names or []), *(["--quick"] if quick else [])])
    command = f'make bench ARGS="{arguments}"' if arguments else "make bench"
    print(f"`{command}` on {machine()}\n")
    for name in names or (name for name in Name if name not in (Name.PAGE, Name.REBUILD)):
        started = time.monotonic()
        tables = apart(name.value, quick)
        progress(name)(f"{time.monotonic() - started:.0f} s\n")
        if tables is None:
            failed.append(name.value)
        for table in tables or ():
            print(table.markdown(), end="\n\n", flush=True)
    progress("all")(f"done in {time.monotonic() - began:.0f} s\n")
    if failed:
        raise SystemExit(f"failed, see above: {', '.join(failed)}")


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(main)
    app(prog_name="python -m bench")
