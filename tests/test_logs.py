"""Log lines: one an event, the same fields from our own code and from libraries, no secrets."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from server import logs


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def _lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_json_line_with_its_fields() -> None:
    out = io.StringIO()
    logs.set_up("info", as_json=True, stream=out)

    structlog.get_logger("x").warning("board_lost", board="s12", version=7)

    [line] = _lines(out)
    assert line | {"timestamp": ""} == {
        "event": "board_lost",
        "level": "warning",
        "board": "s12",
        "version": 7,
        "timestamp": "",
    }


def test_a_library_line_has_the_fields_of_our_own() -> None:
    out = io.StringIO()
    logs.set_up("info", as_json=True, stream=out)

    logging.getLogger("some.library").error("broker %s is away", 3)

    [line] = _lines(out)
    assert (line["event"], line["level"], line["logger"]) == ("broker 3 is away", "error", "some.library")
    assert "timestamp" in line


def test_what_is_below_the_level_is_not_written() -> None:
    out = io.StringIO()
    logs.set_up("warning", as_json=True, stream=out)

    structlog.get_logger("x").info("board_opened")
    logging.getLogger("some.library").info("chatter")

    assert out.getvalue() == ""


@pytest.mark.parametrize("as_json", [True, False])
def test_a_traceback_never_shows_values_of_variables(as_json: bool) -> None:
    out = io.StringIO()
    logs.set_up("info", as_json=as_json, stream=out)
    password = "hunter2" * 2

    try:
        raise RuntimeError("no")
    except RuntimeError:
        structlog.get_logger("x").exception("role_died")
        logging.getLogger("some.library").exception("it died")

    assert out.getvalue().count("RuntimeError: no") == 2
    assert password not in out.getvalue()
