"""A benchmark in a process of its own, so that none inherits another's memory or garbage.

Owns that process; a SIGTERM ends it as Ctrl-C does: what it has started is stopped.
Neighbour: `__main__.py` names the benchmarks.
"""

import importlib
import logging
import multiprocessing
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from types import FrameType

import structlog

from bench.report import Table, progress


def apart(name: str, quick: bool) -> list[Table]:
    """Run the benchmark of this name and return its tables."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_prepare) as pool:
        return pool.submit(_run, name, quick).result()


def _prepare() -> None:
    signal.signal(signal.SIGTERM, _interrupt)
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),  # tables alone go to stdout
    )
    logging.getLogger("aiokafka").setLevel(
        logging.CRITICAL
    )  # the embedded broker has no idempotent producers


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _run(name: str, quick: bool) -> list[Table]:
    tables: list[Table] = importlib.import_module(f"bench.{name}").run(quick, progress(name))
    return tables
