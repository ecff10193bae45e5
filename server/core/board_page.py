"""A page of a board as Redis tells it, sorted into rows and what cannot be one.

Owns which members are players and which scores are scores: whatever our scripts write is one, what a hand
wrote need not be. Pure. Neighbours: `keeper/board_look.py` reads pages; the mirror reads a board that is
known to be sound by a stricter way of its own.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from server.core.codec import MAX_SCORE, OutOfRange, score_from_wire
from server.core.member_order import Int64s
from server.core.refusals import Refusal
from server.core.results import player_id_from_text


class Alien(NamedTuple):
    """A member that is no player's id, or has a score that is none: both to read, and its very bytes."""

    member: str
    score: str
    raw: bytes


class BoardPage(NamedTuple):
    """Players and scores, both int64[n], and what is neither."""

    players: Int64s
    scores: Int64s
    aliens: list[Alien]


def page_of_texts(members: str, scores: str) -> BoardPage | None:
    """The page whose members and scores stand with a space between; None: it has to be read singly."""
    try:
        ids = list(map(int, members.split()))
        players = np.array(ids, np.int64)
        values = np.array(list(map(float, scores.split())))
    except (ValueError, OverflowError):
        return None
    exact = (values >= 0) & (values <= MAX_SCORE) & (values == np.floor(values))
    if len(players) != len(values) or not exact.all() or " ".join(map(str, ids)) != members:
        return None
    return BoardPage(players, values.astype(np.int64), [])


def page_of_rows(rows: Sequence[tuple[bytes, bytes]]) -> BoardPage:
    """The page of these members and scores, each looked at singly."""
    good: list[tuple[int, int]] = []
    aliens: list[Alien] = []
    for member, score in rows:
        text = member.decode("utf-8", "backslashreplace")
        player = player_id_from_text(text)
        value = _score(score)
        if isinstance(player, Refusal) or value is None:
            aliens.append(Alien(text, score.decode("ascii", "backslashreplace"), member))
        else:
            good.append((player, value))
    array = np.array(good, np.int64).reshape(-1, 2)
    return BoardPage(array[:, 0], array[:, 1], aliens)


def _score(text: bytes) -> int | None:
    try:
        return score_from_wire(text)
    except OutOfRange:
        return None
