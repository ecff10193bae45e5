"""Drawing many inputs: some by a hypothesis strategy, which knows odd corners, others as variations of those.

The same seed draws the same inputs.
"""

import os
import re
from collections.abc import Callable
from random import Random
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

T = TypeVar("T")

SEED = int(os.environ.get("RANDOM_INPUTS_SEED", "1"))
"""Another one draws other inputs: `RANDOM_INPUTS_SEED=7 make test-faults`."""

ONE_IN = 6  # drawn by hypothesis: it takes milliseconds for each
_DIGIT = re.compile(rb"\d")


def drawn(strategy: st.SearchStrategy[T], count: int, vary: Callable[[Random, T], T]) -> list[T]:
    """`count` inputs: a part of them of the strategy, the others varied from those, in any order."""
    found = _examples(strategy, max(1, count // ONE_IN))
    chance = Random(SEED)
    found += [vary(chance, chance.choice(found)) for _ in range(count - len(found))]
    chance.shuffle(found)
    return found


def _examples(strategy: st.SearchStrategy[T], count: int) -> list[T]:
    found: list[T] = []

    @seed(SEED)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(one: T) -> None:
        found.append(one)

    collect()
    return found[:count]


def varied(chance: Random, original: bytes) -> bytes:
    """The bytes with a digit or two changed, a piece cut out, doubled or put in, or a bit turned over."""
    changed = bytearray(original or b"0")
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        at = chance.randrange(len(changed) + 1)
        match chance.randrange(8):
            case 0:
                changed[at : at + chance.randrange(1, 5)] = b""
            case 1:
                changed[at:at] = chance.randbytes(chance.randrange(1, 5))
            case 2:
                changed[at:at] = changed[at : at + chance.randrange(1, 40)]
            case 3 if at < len(changed):
                changed[at] ^= 1 << chance.randrange(8)
            case _:  # what stays valid gets further than what does not
                digits = [found.start() for found in _DIGIT.finditer(changed)]
                if digits:
                    changed[chance.choice(digits)] = chance.choice(b"0123456789")
    return bytes(changed)


WILD_NUMBERS = st.one_of(
    st.integers(-5, 5),
    st.sampled_from((2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**45)),
    st.integers(),
)
_ODD_TEXTS = (
    "",
    " ",
    "\x00",
    "a\x00b",
    "007",
    "+7",
    "-0",
    "1e3",
    "NaN",
    "null",
    "'; --",
    "🏆",
    "%00",
    "../..",
)
WILD_TEXTS = st.one_of(st.sampled_from(_ODD_TEXTS), st.text(max_size=12))
SCALARS = st.one_of(st.none(), st.booleans(), WILD_NUMBERS, st.floats(), WILD_TEXTS)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(WILD_TEXTS, SCALARS, max_size=3))
"""What may stand where something else belongs."""


def mostly(usual: st.SearchStrategy[T], rare: st.SearchStrategy[T], one_in: int = 6) -> st.SearchStrategy[T]:
    """The usual, and the rare once in so many."""
    return st.integers(1, one_in).flatmap(lambda at: rare if at == one_in else usual)


def nested(depth: int) -> str:
    """JSON that is nested so deep."""
    return "[" * depth + "]" * depth
