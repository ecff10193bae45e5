"""What a board's channel and its change log tell: the changes of one call, or that the board was replaced.

Owns the reading of that text and its limits. Never does: judge whether an event follows the last one;
`replica` does. Neighbours: the scripts of `board/` write it, the mirror reads it.
"""

from typing import Annotated, NamedTuple

import msgspec

from server.core.codec import MAX_SCORE

REMOVED = -1

_Player = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Score = Annotated[int, msgspec.Meta(ge=0, le=MAX_SCORE)]
_Rank = Annotated[int, msgspec.Meta(ge=1)]


class _Wire(msgspec.Struct):
    epoch: str
    version: Annotated[int, msgspec.Meta(ge=1)]
    rows: list[tuple[_Player, _Score | None, _Rank | None, _Rank | None]]
    reason: str | None = None


_decoder = msgspec.json.Decoder(_Wire)


class BoardEvent(NamedTuple):
    """The changes that made `version` of `epoch`: players and scores (-1: removed), in their order.

    `reason` is set where the epoch begins with this event for a reason: replaced, reset, closed.
    """

    epoch: str
    version: int
    players: list[int]
    scores: list[int]
    reason: str | None = None


def parse_event(text: bytes | str) -> BoardEvent:
    """Return the event that a message or log entry holds. Raises ValueError for anything else."""
    wire = _decoder.decode(text)
    return BoardEvent(
        wire.epoch,
        wire.version,
        [row[0] for row in wire.rows],
        [REMOVED if row[1] is None else row[1] for row in wire.rows],
        wire.reason,
    )
