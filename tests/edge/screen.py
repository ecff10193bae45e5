"""A viewer's screen: what a client that follows the protocol has, and that no frame breaks a rule of it."""

from dataclasses import dataclass, field
from typing import Any

from server.core.diff import Diff, Placed, apply
from server.core.rows import Row, checksum

Said = dict[str, Any]


def row_of(wire: list[Any]) -> Row:
    player, points, achieved_ms = wire[:3]
    assert isinstance(player, str)
    return Row(int(player), points, achieved_ms)


@dataclass
class Shown:
    """One topic as a client shows it."""

    epoch: str | None = None
    version: int = -1
    total: int = 0
    rank: int | None = None
    rows: list[Row] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    whole: int = 0  # snapshots and whole `around` frames
    diffs: int = 0
    expects_whole: bool = True
    notices: list[str] = field(default_factory=list)  # season reasons

    @property
    def have(self) -> Said:
        return {"epoch": self.epoch, "version": self.version}


class Screen:
    """All topics of one client; `take` raises AssertionError where a frame breaks the protocol."""

    def __init__(self) -> None:
        self.topics: dict[str, Shown] = {}
        self.rankups: list[Said] = []
        self.stale: dict[str, str] = {}

    def __getitem__(self, topic: str) -> Shown:
        return self.topics[topic]

    def shows(self, topic: str) -> bool:
        """Whether the topic's first frame has come."""
        return topic in self.topics and self.topics[topic].version >= 0

    def take(self, frame: Said) -> None:
        match frame["type"]:
            case "ok":
                self._agreed(frame)
            case "snapshot":
                self._snapshot(self.topics[frame["topic"]], frame)
            case "diff":
                self._diff(self.topics[frame["topic"]], frame)
            case "around":
                self._around(self.topics[frame["topic"]], frame)
            case "season":
                shown = self.topics[frame["topic"]]
                shown.notices.append(frame["reason"])
                shown.expects_whole = True
            case "rankup":
                assert frame["topic"] in self.topics
                assert frame["before"] is None or frame["after"] < frame["before"]
                self.rankups.append(frame)
            case "stale":
                self.stale[frame["board"]] = frame["reason"]
            case "fresh":
                del self.stale[frame["board"]]
            case "heartbeat":
                self._compare(frame["heads"])

    def _agreed(self, frame: Said) -> None:
        if "resumed" in frame:
            shown = self.topics.setdefault(frame["topic"], Shown())
            shown.expects_whole = not frame["resumed"]
        elif "topic" in frame:
            self.topics.pop(frame["topic"], None)  # perhaps a wish that was taken back before it was met

    @staticmethod
    def _moves(shown: Shown, frame: Said, version: int) -> None:
        if shown.epoch == frame["epoch"] and not shown.expects_whole:
            assert version >= shown.version, "versions only rise within an epoch"
        shown.epoch, shown.version, shown.total = frame["epoch"], version, frame["total"]
        shown.names |= frame["names"]

    def _snapshot(self, shown: Shown, frame: Said) -> None:
        self._moves(shown, frame, frame["version"])
        shown.rows = [row_of(row) for row in frame["rows"]]
        shown.expects_whole = False
        shown.whole += 1
        assert checksum(shown.rows) == frame["crc"]

    def _diff(self, shown: Shown, frame: Said) -> None:
        assert not shown.expects_whole, "a new epoch or an unresumed subscription begins with a snapshot"
        assert (shown.epoch, shown.version) == (frame["epoch"], frame["from"]), "no hole between frames"
        put = [Placed(row[3], row_of(row)) for row in frame["set"]]
        shown.rows = apply(shown.rows, Diff([int(player) for player in frame["gone"]], put))
        self._moves(shown, frame, frame["to"])
        shown.diffs += 1
        assert checksum(shown.rows) == frame["crc"]

    def _around(self, shown: Shown, frame: Said) -> None:
        assert "rows" in frame or not shown.expects_whole
        self._moves(shown, frame, frame["version"])
        shown.rank = frame["rank"]
        shown.expects_whole = False
        if "rows" in frame:
            shown.rows = [row_of(row) for row in frame["rows"]]
            shown.whole += 1
        else:
            shown.diffs += 1

    def _compare(self, heads: dict[str, list[Any]]) -> None:
        for topic, head in heads.items():
            shown = self.topics[topic]
            assert [shown.epoch, shown.version] == head, "a heartbeat tells what was sent"
