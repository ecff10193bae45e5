"""What goes into the submit script and what comes out: a batch, PostgreSQL's word on it, the reply.

Owns the text of both directions, exact to the last digit under every protocol. Pure: no socket, no clock.
Neighbours: `feed` makes batches, `store.py` sends them, `submit.lua` defines the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import orjson

from server.board.keys import BoardKeys
from server.board.position import text
from server.core.results import Result
from server.core.season import Season

MAX_RESULTS = 500
"""Results in one call: what Redis does in about 10 ms on a board of a million players."""

MAX_EXACT = 2**53 - 1
_SECOND_US = 1_000_000

Kind = Literal["done", "seek", "rebuild", "ask", "wait"]


class BatchInvalid(ValueError):  # noqa: N818  reads as the sentence it is
    """A batch that breaks the rules of its making, a fault of the caller; nothing of it was written."""


@dataclass(frozen=True, slots=True)
class Asked:
    """PostgreSQL's word on one batch, all of it read in one snapshot.

    `sql_next`: the offset up to which it has this log and partition, -1 when it has none of this log.
    `behind`: it is half a marker's life behind, or more.
    `elsewhere`: per result, whether it has that match and player at another position.
    """

    sql_next: int
    behind: bool
    elsewhere: Sequence[bool]


@dataclass(frozen=True, slots=True)
class SubmitBatch:
    """Results of one season from one partition, and the range of the log that they were picked from.

    `start` is the consumer's position at the fetch, `end` the next offset; `offsets` belong to `results` and
    rise. `keys` names the board, the live one by default.
    """

    season: Season
    log: int
    partition: int
    start: int
    end: int
    offsets: Sequence[int] = ()
    results: Sequence[Result] = ()
    asked: Asked | None = None
    keys: BoardKeys | None = None

    def __post_init__(self) -> None:
        count = len(self.results)
        if count > MAX_RESULTS:
            raise BatchInvalid(f"{count} results are above {MAX_RESULTS}, the most of one call; send fewer")
        if len(self.offsets) != count:
            raise BatchInvalid(f"{count} results come with {len(self.offsets)} offsets")
        if not 0 <= self.start <= self.end <= MAX_EXACT:
            raise BatchInvalid(f"the range {self.start} to {self.end} is none of a log")
        if self.asked is not None and len(self.asked.elsewhere) != count:
            raise BatchInvalid(f"{count} results come with {len(self.asked.elsewhere)} answers")
        for result in self.results:
            if result.season_id != self.season.season_id:
                raise BatchInvalid(
                    f"a result of season {result.season_id} is in a batch of season {self.season.season_id}"
                )

    @property
    def board(self) -> BoardKeys:
        """The board that the batch is for."""
        return BoardKeys(self.season.season_id) if self.keys is None else self.keys


class Outcome(NamedTuple):
    """What one result did: 1 new record, 0 none, -1 seen before, -2 below `applied` and skipped.

    Ranks start at 1; `before` is None for a player who was new, both are None without a new record and on a
    board in the making.
    """

    code: int
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True, slots=True)
class SubmitReply:
    """What the script did. Only `done` has written; `outcomes` belong to the batch's results, else empty.

    `applied` is the next offset of the partition, from which to go on (`seek`: to replay). `epoch` is "" and
    `version` 0 on a board that never changed. `saturated` counts sums that were held at the season's maximum.
    """

    kind: Kind
    applied: int
    epoch: str
    version: int
    saturated: int
    outcomes: list[Outcome]


def submit_keys(batch: SubmitBatch) -> list[str]:
    """KEYS of the script: the board's own and a marker per result."""
    keys = batch.board
    return [*keys.board, *[keys.dedup(result.match_id, result.player_id) for result in batch.results]]


def submit_args(batch: SubmitBatch, marker_life_s: int, log_length: int, epoch: str) -> list[str | int]:
    """ARGV of the script; `epoch` is what a new epoch would be called. A bad result is `OutOfRange`."""
    season, codec = batch.season, batch.season.codec
    encode = codec.encode
    lines = [
        f"{offset} {result.player_id} {encode(result.points, result.achieved_us)} "
        f"{result.achieved_us // _SECOND_US}\n"
        for offset, result in zip(batch.offsets, batch.results, strict=True)
    ]
    return [
        batch.log,
        batch.partition,
        batch.start,
        batch.end,
        season.operator,
        1 << season.time_bits,
        (1 << season.points_bits + season.time_bits) - 1,
        marker_life_s,
        log_length,
        epoch,
        batch.board.events if batch.board.rebuild_id is None else "",
        *_answers(batch.asked),
        "".join(lines),
    ]


def _answers(asked: Asked | None) -> tuple[str, str, str]:
    if asked is None:
        return "", "", ""
    digits = "".join("1" if elsewhere else "0" for elsewhere in asked.elsewhere)
    return str(asked.sql_next), "1" if asked.behind else "0", digits


def parse_reply(raw: Sequence[bytes | str]) -> SubmitReply:
    """The script's reply, as bytes or as text."""
    kind, applied, epoch, version, saturated, codes, rows = map(text, raw)
    return SubmitReply(
        cast(Kind, kind), int(applied), epoch, int(version), int(saturated), _outcomes(codes, rows)
    )


def _outcomes(codes: str, rows: str) -> list[Outcome]:
    changed = iter(orjson.loads(f"[{rows}]"))
    outcomes = []
    for code in codes.split():
        if code == "1":
            _player, _score, before, after = next(changed)
            outcomes.append(Outcome(1, before, after))
        else:
            outcomes.append(_UNCHANGED[code])
    return outcomes


_UNCHANGED = {str(code): Outcome(code) for code in (0, -1, -2)}
