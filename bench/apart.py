"""A benchmark in a process of its own, so that none inherits another's memory or garbage.

Owns that process: whatever ends this one, the benchmark gets to stop what it has started.
Neighbour: `__main__.py` names the benchmarks.
"""

import importlib
import logging
import multiprocessing
import signal
import sys
import traceback
from multiprocessing.connection import Connection

import structlog

from bench.report import Table, progress


def apart(name: str, quick: bool) -> list[Table] | None:
    """Run the benchmark of this name and return its tables; None: it failed, and has said why."""
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(theirs, name, quick), name=name)
    process.start()
    theirs.close()
    try:
        tables: list[Table] | None = pipe.recv()
    except EOFError:
        tables = None
    finally:
        if sys.exc_info()[0] is not None:
            process.terminate()
        process.join()
    return tables


def interruptible() -> None:
    """Let SIGTERM end this process as Ctrl-C does: in order, even where a shell had it ignore the latter."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))


def _run(pipe: Connection, name: str, quick: bool) -> None:
    interruptible()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),  # tables alone go to stdout
    )
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # the embedded broker is none of its kind
    try:
        pipe.send(importlib.import_module(f"bench.{name}").run(quick, progress(name)))
    except KeyboardInterrupt:
        sys.exit(1)
    except Exception:  # whatever a benchmark dies of is told, and the next one runs
        traceback.print_exc()
        pipe.send(None)
