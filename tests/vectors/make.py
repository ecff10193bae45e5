"""Make the vectors that hold Python and JavaScript to one law: `python -m tests.vectors.make`.

Owns: random boards from a fixed seed, the frames that the server's core makes of them, and the rows, names
and ranks that a client has to show after each frame. The files are committed; a test makes them again.
Neighbours: `tests/js/vectors.test.js` plays the frames into the client, `test_vectors.py` into the core.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random

from server.core import frames
from server.core.diff import difference
from server.core.frames import Head
from server.core.rows import Row, checksum, on_wire

FOLDER = Path(__file__).parent
EPOCHS = ("0123456789abcdef", "fedcba9876543210")

EDGE_IDS = (2**63 - 1, -(2**63), -1, 0, 1, 9, 10, -10, 2**53 + 1, 2**53 + 2, 42)
EDGE_POINTS = (0, 1, 2_097_151, 2**31 - 1)
EDGE_TIMES = (0, -3_093_552_000_000, -1, 4_102_444_800_000)
NAMES = ("Ada", "Zoë Ω", "<img src=x onerror=alert(1)>", "مريم", "🦆" * 16, "W" * 64, "a&amp;b", '"quoted\\"')

Json = object
Board = dict[int, tuple[int, int]]


def in_order(board: Board) -> list[Row]:
    """All rows of the board: points falling, then time rising, then the id's bytes falling."""
    by_id = sorted(board, key=lambda player: str(player).encode(), reverse=True)
    best_first = sorted(by_id, key=lambda player: (-board[player][0], board[player][1]))
    return [Row(player, *board[player]) for player in best_first]


def some_player(random: Random) -> int:
    """An id that a client has not seen, an edge more often than chance would have it."""
    return random.choice(EDGE_IDS) if random.random() < 0.3 else random.randrange(-(2**63), 2**63)


def some_result(random: Random) -> tuple[int, int]:
    """Points and time; few enough of each that ties happen."""
    points = random.choice(EDGE_POINTS) if random.random() < 0.1 else random.randrange(60)
    return points, random.choice(EDGE_TIMES) if random.random() < 0.1 else random.randrange(40) * 1000


def mutate(random: Random, board: Board) -> None:
    """Change the board as a tick may: a few results, some removals, now and then nearly everything."""
    for _ in range(random.choice((0, 1, 1, 2, 3, 8, 40))):
        known = list(board)
        chance = random.random()
        if chance < 0.25 and known:
            del board[random.choice(known)]
        elif chance < 0.7 and known:
            board[random.choice(known)] = some_result(random)
        else:
            board[some_player(random)] = some_result(random)


class Names:
    """Names that players have, and those that a client of one view was told."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._given: dict[int, str | None] = {}
        self.told: dict[int, str] = {}

    def tell(self, rows: Iterable[Row]) -> dict[int, str]:
        """What the next frame carries: names of those who enter, and now and then a rename."""
        inside = [row.player for row in rows]
        new = {player: self._name_of(player) for player in inside if player not in self.told}
        if inside and self._random.random() < 0.2:
            renamed = self._random.choice(inside)
            self._given[renamed] = new[renamed] = f"{self._random.choice(NAMES)} {self._random.randrange(9)}"
        carried = {player: name for player, name in new.items() if name is not None}
        kept = {player: name for player, name in self.told.items() if player in inside}
        self.told = kept | carried
        return carried

    def _name_of(self, player: int) -> str | None:
        if player not in self._given:
            self._given[player] = self._random.choice((*NAMES, None, None))
        return self._given[player]


def shown(rows: Sequence[Row], names: Mapping[int, str], **more: Json) -> Json:
    """What the client has to show: rows as on the wire, each with its name or null."""
    return {"rows": [[*on_wire(row), names.get(row.player)] for row in rows], **more}


def top_case(random: Random, limit: int, players: int, steps: int) -> Json:
    """A snapshot and diffs of a top view, with what is to be shown after each."""
    board: Board = {some_player(random): some_result(random) for _ in range(players)}
    names, version, rows = Names(random), random.randrange(1, 10**6), in_order(board)[:limit]
    head = Head(f"s12/top/{limit}", random.choice(EPOCHS), version, len(board))
    made = [frames.snapshot(head, rows, names.tell(rows))]
    after = [shown(rows, names.told, version=version, total=len(board))]
    for _ in range(steps):
        mutate(random, board)
        before, rows, since = rows, in_order(board)[:limit], head.version
        head = head._replace(version=since + random.choice((1, 1, 5)), total=len(board))
        made.append(frames.diff(head, since, difference(before, rows), rows, names.tell(rows)))
        after.append(shown(rows, names.told, version=head.version, total=len(board)))
    return {"limit": limit, "frames": [json.loads(frame.payload) for frame in made], "after": after}


def neighbours(order: Sequence[Row], player: int, radius: int) -> tuple[int | None, list[Row]]:
    """The rank of the first row and the rows around a player; None and no rows where unranked."""
    place = next((place for place, row in enumerate(order) if row.player == player), None)
    if place is None:
        return None, []
    first = max(0, place - radius)
    return first + 1, list(order[first : place + radius + 1])


def around_case(random: Random, radius: int, players: int, steps: int) -> Json:
    """Frames of an around view; some carry no rows, and in some the player is unranked."""
    board: Board = {some_player(random): some_result(random) for _ in range(players)}
    player, names, version = random.choice([*board]), Names(random), 1
    topic, epoch = f"s12/around/{player}/{radius}", random.choice(EPOCHS)
    made, after = [], []
    last: list[Row] | None = None
    for _ in range(steps):
        rank, rows = neighbours(in_order(board), player, radius)
        head = Head(topic, epoch, version, len(board))
        made.append(frames.around(head, rank, None if rows == last else rows, names.tell(rows)))
        after.append(shown(rows, names.told, version=version, total=len(board), first=rank))
        last = rows
        version += random.choice((1, 3))
        mutate(random, board)
        if player not in board and random.random() < 0.7:
            board[player] = some_result(random)
    return {
        "player": str(player),
        "radius": radius,
        "frames": [json.loads(frame.payload) for frame in made],
        "after": after,
    }


def crc_case(random: Random, count: int) -> Json:
    """Rows and the checksum over their text."""
    rows = in_order({some_player(random): some_result(random) for _ in range(count)})
    return {"rows": [on_wire(row) for row in rows], "crc": checksum(rows)}


def vectors() -> dict[str, Json]:
    """Every file's content by its name; the same at each call."""
    random = Random("rankcast")
    return {
        "crc.json": [crc_case(random, count) for count in (0, 1, 2, 3, 10, 100)],
        "top.json": [
            top_case(random, limit, players, steps)
            for limit, players, steps in ((1, 3, 12), (3, 2, 16), (10, 30, 30), (10, 0, 12), (100, 120, 3))
            for _ in range(2)
        ],
        "around.json": [
            around_case(random, radius, players, 16)
            for radius, players in ((0, 5), (2, 3), (5, 40))
            for _ in range(2)
        ],
    }


def text_of(content: Json) -> str:
    """The text of a vectors file: one case a line, so that a change can be read in a diff of lines."""
    assert isinstance(content, list)
    lines = ",\n".join(json.dumps(case, ensure_ascii=True, separators=(",", ":")) for case in content)
    return f"[\n{lines}\n]\n"


if __name__ == "__main__":
    for name, content in vectors().items():
        (FOLDER / name).write_text(text_of(content))
