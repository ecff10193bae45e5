"""The order of players whose scores are equal: their decimal text, byte by byte, the greater one first.

The 2^64 signed ids, sorted by their texts, are numbered by exactly 64 bits. That number is the tie key: one
unsigned integer a player, so that a tie costs one comparison and no text is ever made. Knows nothing of
scores; `order_base` and `order_delta` use it wherever scores are equal.
"""

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]

_DIGITS = 19  # of the greatest magnitude, 2^63
_TENS = np.array([10**power for power in range(1, _DIGITS)], np.uint64)
_TEN = np.uint64(10)
_HALF = np.uint64(2**63)

# By number of digits L (index 0 is unused): how many numbers of L+1 to 18 digits begin with one of L digits,
_LONGER = np.array([0] + [sum(10**k for k in range(1, 19 - length)) for length in range(1, 20)], np.uint64)
# and the factor that fills it up to 19 digits; 0 where it has them.
_FILL = np.array([0] + [10 ** (19 - length) for length in range(1, 19)] + [0], np.uint64)
_SHORTEST = np.uint64(sum(10**k for k in range(_DIGITS)))  # the least number of each length, added up

_CHUNK = 1 << 16  # rows at a time: the temporaries stay in the cache


def tie_keys(players: Int64s) -> UInt64s:
    """Return a key per player id, int64[n] to uint64[n]: keys ascend exactly as the ids' texts descend."""
    keys = np.empty(len(players), np.uint64)
    for start in range(0, len(players), _CHUNK):
        keys[start : start + _CHUNK] = ~_text_ranks(players[start : start + _CHUNK])
    return keys


def _text_ranks(players: Int64s) -> UInt64s:
    """Number the ids by ascending text: "-" sorts before the digits, so negative ids take the lower half."""
    negative = players < 0
    bits = players.view(np.uint64)
    magnitudes = np.where(negative, ~bits + np.uint64(1), bits)
    smaller = _smaller_texts(magnitudes, np.where(negative, _HALF + np.uint64(1), _HALF))
    zero_too = np.where(players > 0, np.uint64(1), np.uint64(0))
    return np.where(negative, smaller, _HALF + zero_too + smaller)


def _smaller_texts(magnitudes: UInt64s, limits: UInt64s) -> UInt64s:
    """Count, for each number, those of 1 … limit - 1 whose text sorts before its own (0 counts none).

    Numbers of the same length or shorter: each prefix of the text is one bound. Longer ones: those that
    begin with less; of 19 digits there are only those below the limit.
    """
    lengths = _TENS.searchsorted(magnitudes, "right") + 1
    prefixes = magnitudes.copy()
    rest = magnitudes // _TEN
    while rest.any():
        prefixes += rest
        rest //= _TEN
    longest = np.minimum(magnitudes * _FILL[lengths], limits)
    counts = prefixes + (lengths - 1).astype(np.uint64) + magnitudes * _LONGER[lengths] + longest - _SHORTEST
    return np.where(magnitudes == 0, np.uint64(0), counts)
