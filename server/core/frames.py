"""What server frames say: one function a type of frame, values in, a `Frame` ready to be sent out.

Owns: the fields of every server frame of protocol version 1 (their order too: equal frames are equal bytes).
Never does: decide when a frame is sent or to whom.
Neighbours: `live` calls these once a frame and hands the same `Frame` to everybody who is owed it.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import orjson

from server.core.commands import Id
from server.core.diff import Diff
from server.core.position import Position
from server.core.rows import Row, checksum, on_wire
from server.core.wire import Frame

PROTOCOL = "rankcast.v1"

Names = Mapping[int, str]


class Head(NamedTuple):
    """What state frames of a topic begin with; `epoch` is None for a board that is still being made."""

    topic: str
    epoch: str | None
    version: int
    total: int

    @property
    def position(self) -> Position | None:
        """Where a client is who has this frame; None where it could not resume."""
        return None if self.epoch is None else Position(self.epoch, self.version)


class Rise(NamedTuple):
    """A player who rose: points now, rank before (None: new) and after."""

    player: int
    points: int
    before: int | None
    after: int


def _frame(kind: str, fields: dict[str, object], position: Position | None = None) -> Frame:
    return Frame(kind, orjson.dumps({"type": kind, **fields}), position)


def _named(names: Names) -> dict[str, str]:
    return {str(player): name for player, name in names.items()}


def welcome(heartbeat_ms: int, limits: Mapping[str, int]) -> Frame:
    """The first frame of a socket."""
    return _frame("welcome", {"protocol": PROTOCOL, "heartbeat_ms": heartbeat_ms, "limits": dict(limits)})


def ok(number: Id, topic: str | None = None, resumed: bool | None = None) -> Frame:
    """The command was carried out; `topic` and `resumed` where it has them."""
    fields = {"id": number, "topic": topic, "resumed": resumed}
    return _frame("ok", {name: value for name, value in fields.items() if name == "id" or value is not None})


def error(number: Id, code: str, reason: str, retry: bool) -> Frame:
    """The command was refused; the socket stays open."""
    return _frame("error", {"id": number, "code": code, "reason": reason, "retry": retry})


def snapshot(head: Head, rows: Sequence[Row], names: Names) -> Frame:
    """All rows of a top view."""
    fields: dict[str, object] = {
        "topic": head.topic,
        "epoch": head.epoch,
        "version": head.version,
        "total": head.total,
        "rows": [on_wire(row) for row in rows],
        "names": _named(names),
        "crc": checksum(rows),
    }
    return _frame("snapshot", fields, head.position)


def diff(head: Head, since: int, change: Diff, rows: Sequence[Row], names: Names) -> Frame:
    """What changed in a top view since version `since`; `rows` are those at the head, for the crc."""
    fields: dict[str, object] = {
        "topic": head.topic,
        "epoch": head.epoch,
        "from": since,
        "to": head.version,
        "total": head.total,
        "gone": [str(player) for player in change.gone],
        "set": [(*on_wire(placed.row), placed.rank) for placed in change.put],
        "names": _named(names),
        "crc": checksum(rows),
    }
    return _frame("diff", fields, head.position)


def around(head: Head, rank: int | None, rows: Sequence[Row] | None, names: Names) -> Frame:
    """The rows around a player, `rank` that of the first; without `rows` where only rank or total changed."""
    fields: dict[str, object] = {
        "topic": head.topic,
        "epoch": head.epoch,
        "version": head.version,
        "total": head.total,
        "rank": rank,
    }
    if rows is not None:
        fields["rows"] = [on_wire(row) for row in rows]
    return _frame("around", {**fields, "names": _named(names)}, head.position)


def rankup(topic: str, epoch: str | None, version: int, rise: Rise) -> Frame:
    """One player's rise; it moves no position."""
    return _frame(
        "rankup",
        {
            "topic": topic,
            "epoch": epoch,
            "version": version,
            "player": str(rise.player),
            "points": rise.points,
            "before": rise.before,
            "after": rise.after,
        },
    )


def heartbeat(at_ms: int, heads: Mapping[str, tuple[str | None, int]]) -> Frame:
    """The line is alive; `heads` are the positions as last sent to this socket, by topic."""
    return _frame("heartbeat", {"at": at_ms, "heads": dict(heads)})


def stale(board: str, reason: str, since_ms: int) -> Frame:
    """The board's picture may lag since then (Unix ms)."""
    return _frame("stale", {"board": board, "reason": reason, "since": since_ms})


def fresh(board: str) -> Frame:
    """The board's picture is up to date again."""
    return _frame("fresh", {"board": board})


def season(topic: str, board: str, reason: str) -> Frame:
    """The board was closed, reset, replaced or has rolled over; what follows is a snapshot."""
    return _frame("season", {"topic": topic, "board": board, "reason": reason})


def bye(code: int, retry_after_ms: int, jitter_ms: int) -> Frame:
    """The server is about to close with this code."""
    return _frame("bye", {"code": code, "retry_after_ms": retry_after_ms, "jitter_ms": jitter_ms})
