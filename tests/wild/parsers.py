"""The parsers of what comes from outside: none of them raises anything that its signature does not name.

Neighbours: `test_random_inputs.py` draws inputs for them, `fuzz.py` lets atheris look for some.
"""

import contextlib
from collections.abc import Callable

from server.core.board_name import parse_board
from server.core.commands import Declined, parse_command
from server.core.exact_json import load_exact
from server.core.inbound import CloseFrame, Inbound, Violation
from server.core.instants import parse_instant
from server.core.names import clean_name
from server.core.position import parse_position
from server.core.refusals import REFUSALS, Refusal
from server.core.results import Result, parse_record, player_id_from_text, result_value
from server.core.season import Season, SeasonInvalid
from server.core.topics import Limits
from server.errors import KINDS, RankcastError
from server.web.naming import parse_names

SEASON = Season.parse(
    {"season_id": 31, "name": "x", "starts_at": "2024-01-01T00:00:00Z", "ends_at": "2100-01-01T00:00:00Z"}, 0
)
NOW_MS = 1_714_521_600_000


def record(data: bytes) -> None:
    """A value with a key that fits it, or none."""
    for key in (None, b"7"):
        found = parse_record(data, key, NOW_MS, {31: SEASON}.get, check_key=key is not None)
        if isinstance(found, Refusal):
            assert found.code in REFUSALS, found
        else:
            again = parse_record(result_value(found), key, NOW_MS, {31: SEASON}.get, check_key=False)
            assert isinstance(again, Result)
            assert again == found


def command(data: bytes) -> None:
    """A client's frame."""
    found = parse_command(data.decode("utf-8", "replace"), Limits(100, 50))
    if isinstance(found, Declined):
        assert found.code in KINDS, found


def frames(data: bytes) -> None:
    """A client's bytes, in two pieces."""
    inbound, half = Inbound(4096), len(data) // 2
    for piece in (data[:half], data[half:]):
        inbound.feed(piece)
        while (event := inbound.next()) is not None:
            if isinstance(event, Violation | CloseFrame):
                return


def texts(data: bytes) -> None:
    """Names, ids, instants, boards and positions."""
    text = data.decode("utf-8", "replace")
    for parse in (clean_name, player_id_from_text, parse_instant, parse_board, parse_position):
        parse(text)


def bodies(data: bytes) -> None:
    """A season's file and a body of names: taken, or refused by the one exception that each has."""
    with contextlib.suppress(RankcastError):
        parse_names(data)
    with contextlib.suppress(SeasonInvalid):
        Season.parse(load_exact(data), NOW_MS * 1000)


PARSERS: tuple[Callable[[bytes], None], ...] = (record, command, frames, texts, bodies)


def all_of(data: bytes) -> None:
    """Let each parser see the bytes."""
    for parser in PARSERS:
        parser(data)
