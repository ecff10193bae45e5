"""How log lines look: one line an event, for people or as JSON, for our own code and for libraries alike.

Owns the set-up of structlog and of the standard library's logging. Never decides what is logged, and never
shows local variables, which hold keys and passwords; an event is a word (`board_lost`) with its board, epoch,
version, partition and offset beside it.
Neighbours: `cli.py` calls `set_up` once, before anything else of a run.
"""

import logging
import sys
from typing import Any, TextIO

import structlog
from structlog.typing import Processor

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}

# What these say at info is their own bookkeeping; aiokafka repeats each broker fault several times a second.
QUIET = {"uvicorn": "warning", "uvicorn.error": "warning", "aiokafka": "error", "asyncio": "warning"}
# The producer itself tells what could not be sent; a group's troubles end in our own lines and in readiness.
SILENT = ("aiokafka.producer.sender", "aiokafka.consumer.group_coordinator")


def set_up(level: str, *, as_json: bool, stream: TextIO | None = None) -> None:
    """Send events of `level` (a word of `LEVELS`) and above to `stream` (none given: standard error)."""
    out = stream or sys.stderr
    handler = logging.StreamHandler(out)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processors=_last(out, as_json=as_json)))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(LEVELS[level])
    for name, lowest in QUIET.items():
        logging.getLogger(name).setLevel(max(LEVELS[level], LEVELS[lowest]))
    for name in SILENT:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    logging.getLogger("asyncio").addFilter(_is_ours)
    structlog.configure(
        processors=[*_shared(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        cache_logger_on_first_use=False,  # the tests set it up more than once in a process
    )


def _is_news(record: logging.LogRecord) -> bool:
    """Leave out what uvicorn repeats, and what anybody on the network can write into the log.

    A failed start or a dead role comes with its traceback; `web/crew.py` has told it better. A line for each
    piece of bytes that is no HTTP would be a flood; `web/measured.py` counts them.
    """
    return record.module != "on" and record.msg != "Invalid HTTP request received."


def _is_ours(record: logging.LogRecord) -> bool:
    """aiokafka leaves commits of its own behind that fail once nobody waits for them any more."""
    return "aiokafka" not in record.getMessage()


def _shared() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _last(out: TextIO, *, as_json: bool) -> list[Processor]:
    """Processors of the formatter; lines of libraries pass `_from_library` first to get the same fields."""
    head: list[Processor] = [_from_library, structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if as_json:
        return [*head, structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    plain = structlog.dev.plain_traceback
    return [*head, structlog.dev.ConsoleRenderer(colors=out.isatty(), exception_formatter=plain)]


def _from_library(logger: object, name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Give a line of the standard library's logging the level, time and logger that our own lines have."""
    if event["_from_structlog"]:
        return event
    record: logging.LogRecord = event["_record"]
    event["logger"] = record.name
    if record.exc_info:
        event["exc_info"] = record.exc_info
    for processor in _shared():
        event = processor(logger, record.levelname.lower(), event)  # type: ignore[assignment]  # ours give mappings
    return event


class Trouble:
    """One line for a fault that is met again and again while it lasts, not one for each try."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self._said: object = None

    def warn(self, event: str, kind: object, **fields: object) -> None:
        """Say it, at debug where the last that was said was of this kind, too."""
        say = self._log.debug if kind == self._said else self._log.warning
        self._said = kind
        say(event, **fields)

    def over(self) -> None:
        """It works: the next fault is news."""
        self._said = None
