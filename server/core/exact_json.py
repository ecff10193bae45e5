"""JSON read exactly: nothing that another reader might see otherwise is taken, and no input raises.

Owns: duplicate fields, depth, huge numbers, NaN and invalid UTF-8, each met with its own code.
Never does: depend on the machine, on settings of the interpreter or on how deep its caller's stack is.
Neighbours: `results` has a fast path that agrees with it.
"""

import json
import re
from collections import Counter
from typing import cast

from server.core.refusals import Refusal, shown

MAX_DEPTH = 32
"""Deepest nesting of lists and objects that is read; a result needs 1."""

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_MAX_DIGITS = 40  # far beyond 64 bits; Python's own limit for reading an integer is a setting of the process


class Fields(dict[str, object]):
    """A JSON object; `twice` is the first field that it had twice, or None."""

    twice: str | None = None


class NotAnInteger:
    """A JSON number that is no integer, or one of absurd length: kept only to be named in a reason."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text if len(self.text) <= _MAX_DIGITS else f"a number of {len(self.text)} characters"


def load_exact(value: bytes) -> object | Refusal:
    """Return the JSON value (objects as `Fields`, numbers as int or `NotAnInteger`), or why it is none."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError as error:
        return Refusal("not_utf8", f"byte {error.start} of {shown(value)} is not UTF-8")
    if text.startswith("\ufeff"):
        return Refusal("byte_order_mark", "the value begins with a byte order mark; leave it out")
    if _depth(text) > MAX_DEPTH:
        return Refusal("too_deep", f"{shown(value)} is nested deeper than {MAX_DEPTH}; send a flat object")
    try:
        return cast(object, _DECODER.decode(text))
    except ValueError as error:
        return Refusal("not_json", f"{shown(value)} is not JSON: {shown(str(error))}")


def _depth(text: str) -> int:
    """Return how deep brackets outside of strings nest, at most `MAX_DEPTH` + 1."""
    depth = deepest = 0
    for match in _TOKENS.finditer(text):
        token = match[0]
        if token in ("[", "{"):
            depth += 1
            deepest = max(deepest, depth)
        elif token in ("]", "}"):
            depth -= 1
        if deepest > MAX_DEPTH:
            break
    return deepest


def _fields(pairs: list[tuple[str, object]]) -> Fields:
    fields = Fields(pairs)
    if len(fields) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        fields.twice = next(name for name, count in counts.items() if count > 1)
    return fields


def _integer(text: str) -> int | NotAnInteger:
    return int(text) if len(text) <= _MAX_DIGITS else NotAnInteger(text)


def _constant(text: str) -> object:
    raise ValueError(f"{text} is no JSON number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_fields, parse_int=_integer, parse_float=NotAnInteger, parse_constant=_constant
)
