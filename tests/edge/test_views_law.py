"""The law over any schedule: whoever has room at last has the board, and no frame came out of order."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from hypothesis import given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis
from websockets.frames import Frame as Parsed
from websockets.protocol import CLIENT, Protocol

from server.core.topics import Around, RankUps, Top, Topic
from server.core.wire import Frame
from server.errors import Close
from server.live.board import Board
from server.live.hub import Hub
from server.live.names import Names
from server.live.ticker import Slices
from server.live.viewer import Viewer
from server.metrics import Metrics
from server.settings import Settings
from tests.edge.screen import Screen
from tests.edge.stage import BOARD, HandBoard, HandBoards, NameStore

TOPICS = [
    Topic(BOARD, Top(3)),
    Topic(BOARD, Top(8)),
    Topic(BOARD, Around(1, 1)),
    Topic(BOARD, Around(5, 2)),
    Topic(BOARD, Around(5, 0)),
    Topic(BOARD, RankUps()),
]


class Collector(Viewer):
    """A viewer that takes frames into its screen when it has room."""

    __slots__ = ("parser", "room", "screen")

    kind: ClassVar[str] = "socket"

    def __init__(self) -> None:
        super().__init__(0.0, "")
        self.room = True
        self.screen = Screen()
        self.parser = Protocol(CLIENT, max_size=None)

    def push(self, frame: Frame, now: float) -> bool:
        if self.room:
            self.send(frame, now)
        return self.room

    def send(self, frame: Frame, now: float) -> None:
        self.parser.receive_data(frame.socket)
        for event in self.parser.events_received():
            assert isinstance(event, Parsed)
            self.screen.take(json.loads(bytes(event.data)))

    def is_quiet(self) -> bool:
        return self.room

    def check(self, now: float) -> None:
        raise NotImplementedError

    def end(self, code: Close, reason: str, last: Frame | None = None) -> None:
        raise NotImplementedError

    def cut(self, code: Close) -> None:
        raise NotImplementedError


@dataclass
class World:
    """A board, its viewers, and what may happen to them."""

    hand: HandBoard
    hub: Hub
    board: Board
    names: Names
    viewers: list[Collector]

    async def tick(self, later_s: float = 0.0) -> None:
        """Tick as if so many seconds had passed."""
        for tick in (self.board.tick_top, self.board.tick_around):
            slices = Slices(lambda _taken: None)
            slices.begun += later_s
            await tick(slices)

    def join(self, viewer: Collector, topic: Topic) -> None:
        name = str(topic)
        joined = self.hub.join(viewer, topic, None)
        viewer.screen.take({"type": "ok", "topic": name, "resumed": joined.resumed})
        if joined.frame is not None:
            viewer.send(joined.frame, 0.0)

    def leave(self, viewer: Collector, topic: Topic) -> None:
        if self.hub.part(viewer, str(topic)):
            del viewer.screen.topics[str(topic)]

    def check(self) -> None:
        for viewer in self.viewers:
            for view in viewer.views:
                self._check_view(viewer, view.topic)

    def _check_view(self, viewer: Collector, topic: Topic) -> None:
        mirror, shown = self.hand.mirror, viewer.screen[str(topic)]
        match topic.view:
            case Top(limit):
                assert shown.rows == mirror.rows(1, limit)
            case Around(player, radius):
                rank = mirror.index.rank_of(player)
                first = max(1, (rank or 1) - radius)
                assert shown.rank == (None if rank is None else first)
                assert shown.rows == (mirror.rows(first, rank + radius - first + 1) if rank else [])
            case RankUps():
                return
        assert (shown.epoch, shown.total) == (mirror.epoch, mirror.total)
        known = self.names.of(row.player for row in shown.rows)
        assert {player: shown.names.get(str(player)) for player in known} == known


players = st.integers(1, 12)
points = st.integers(0, 6)
boards = st.dictionaries(players, points, max_size=12)
steps = st.one_of(
    st.tuples(st.just("set"), st.dictionaries(players, points | st.none(), min_size=1, max_size=4)),
    st.tuples(st.just("replace"), boards),
    st.tuples(st.just("rename"), st.dictionaries(players, st.sampled_from("ab"), min_size=1, max_size=2)),
    st.tuples(st.just("room"), st.tuples(st.integers(0, 2), st.booleans())),
    st.tuples(st.just("join"), st.tuples(st.integers(0, 2), st.sampled_from(TOPICS))),
    st.tuples(st.just("leave"), st.tuples(st.integers(0, 2), st.sampled_from(TOPICS))),
    st.tuples(st.just("tick"), st.none()),
)


async def _play(first: dict[int, int], schedule: list[tuple[str, Any]], keep: int) -> None:
    chosen, metrics = Settings(resume_positions=keep), Metrics()
    hand = HandBoard(BOARD, metrics)
    hand.replace(first)
    async with Redis.from_url("redis://127.0.0.1:1/0") as redis:
        names = Names(NameStore(), redis, chosen, metrics)
        hub = Hub(chosen, metrics, HandBoards(metrics), names)
        hub.boards[BOARD] = board = Board(hand.mirror, names, chosen, metrics)
        world = World(hand, hub, board, names, [Collector() for _ in range(3)])
        for step, value in schedule:
            await _do(world, step, value)
        for viewer in world.viewers:
            viewer.room = True
            hub.catch_up(viewer)
        await world.tick(later_s=10.0)  # what a changed total or a late name asks for may have had to wait
        world.check()


async def _do(world: World, step: str, value: Any) -> None:
    actions: dict[str, Callable[[], object]] = {
        "set": lambda: world.hand.set_now(value),
        "replace": lambda: world.hand.replace(value),
        "rename": lambda: world.names.learn(value),
        "room": lambda: setattr(world.viewers[value[0]], "room", value[1]),
        "join": lambda: world.join(world.viewers[value[0]], value[1]),
        "leave": lambda: world.leave(world.viewers[value[0]], value[1]),
    }
    if step == "tick":
        await world.tick()
    else:
        actions[step]()


@given(boards, st.lists(steps, max_size=40), st.sampled_from([0, 2, 64]))
@settings(max_examples=150, deadline=None)
def test_whoever_has_room_at_last_has_the_board(
    first: dict[int, int], schedule: list[tuple[str, Any]], keep: int
) -> None:
    asyncio.run(_play(first, schedule, keep))


moves = st.one_of(
    st.tuples(st.just("set"), st.dictionaries(players, points | st.none(), min_size=1, max_size=4)),
    st.tuples(st.just("replace"), boards),
    st.tuples(st.just("tick"), st.none()),
)


async def _rises(first: dict[int, int], schedule: list[tuple[str, Any]]) -> tuple[list[Any], list[Any]]:
    """What a viewer of player 5 was told, and what rose between any two ticks within one epoch."""
    chosen, metrics, expected = Settings(), Metrics(), []
    hand = HandBoard(BOARD, metrics)
    hand.replace(first)
    async with Redis.from_url("redis://127.0.0.1:1/0") as redis:
        names = Names(NameStore(), redis, chosen, metrics)
        hub = Hub(chosen, metrics, HandBoards(metrics), names)
        hub.boards[BOARD] = board = Board(hand.mirror, names, chosen, metrics)
        world = World(hand, hub, board, names, [Collector()])
        world.join(world.viewers[0], Topic(BOARD, Around(5, 1)))
        was = _standing(hand)
        for step, value in schedule:
            await _do(world, step, value)
            if step == "tick":
                now = _standing(hand)
                if was[0] == now[0] and now[1] and now[2] > was[2] and (not was[1] or now[1] < was[1]):
                    expected.append((now[2], was[1], now[1]))
                was = now
    told = [(rise["points"], rise["before"], rise["after"]) for rise in world.viewers[0].screen.rankups]
    return told, expected


def _standing(hand: HandBoard) -> tuple[str | None, int | None, int]:
    """Epoch, rank and points (-1: unranked) of player 5."""
    rank = hand.mirror.index.rank_of(5)
    return hand.mirror.epoch, rank, -1 if rank is None else hand.mirror.rows(rank, 1)[0].points


@given(boards, st.lists(moves, max_size=30))
@settings(max_examples=150, deadline=None)
def test_every_rise_between_two_ticks_is_told_once(
    first: dict[int, int], schedule: list[tuple[str, Any]]
) -> None:
    told, expected = asyncio.run(_rises(first, schedule))
    assert told == expected
