"""A board as text that anybody can make: what its SHA-256 is taken of.

One line a player in the board's order, `rank player points achieved_ms` and a line feed, all of it decimal;
the time is the start of the tick in Unix milliseconds. psql and redis-cli can write the same (docs/audit.md).
Pure. Neighbours: the audit hashes it once from Redis and once from PostgreSQL.
"""

import hashlib

from server.core.member_order import Int64s


class BoardHash:
    """The SHA-256 of a board that is given piece by piece, from rank 1 on."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.players = 0

    def add(self, players: Int64s, points: Int64s, achieved_ms: Int64s) -> None:
        """Add the next k players, each array int64[k]."""
        self._digest.update(board_lines(self.players + 1, players, points, achieved_ms))
        self.players += len(players)

    def hexdigest(self) -> str:
        """The hash of what was added, 64 hexadecimal digits."""
        return self._digest.hexdigest()


def board_lines(first_rank: int, players: Int64s, points: Int64s, achieved_ms: Int64s) -> bytes:
    """The lines of k players, the first of whom has rank `first_rank`."""
    rows = zip(players.tolist(), points.tolist(), achieved_ms.tolist(), strict=True)
    return "".join(
        [f"{rank} {player} {score} {at}\n" for rank, (player, score, at) in enumerate(rows, first_rank)]
    ).encode("ascii")
