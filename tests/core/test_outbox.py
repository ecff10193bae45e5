"""What clients are owed, for any schedule of states, slow readers, joins and replaced boards."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from server.core.diff import apply, difference
from server.core.outbox import History, Outbox, Owed
from server.core.position import Position
from server.core.rows import Row
from tests.core.boards import lists_of_rows

EPOCH = "5f0c6e1d2a3b4c5d"
OTHER = "aaaaaaaaaaaaaaaa"
KEEP = 3


def shown(*versions: int) -> History:
    history = History(KEEP)
    history.restart(EPOCH, versions[0], 10, [Row(1, versions[0], 0)], 0)
    for version in versions[1:]:
        history.advance(version, 10, [Row(1, version, 0)], 0)
    return history


def test_who_has_the_head_is_owed_nothing() -> None:
    history = shown(1, 2)
    assert history.owed(history.head.number) is Owed.NOTHING


def test_who_has_a_state_that_is_kept_is_owed_a_diff_from_it() -> None:
    history = shown(1)
    number = history.head.number
    history.advance(5, 10, [], 0)
    assert history.owed(number) is Owed.DIFF
    assert history.mark(number).version == 1


def test_who_is_further_back_than_what_is_kept_is_owed_a_snapshot() -> None:
    history = shown(1)
    number = history.head.number
    for version in range(2, 2 + KEEP):
        history.advance(version, 10, [], 0)
    assert history.owed(number) is Owed.DIFF
    history.advance(99, 10, [], 0)
    assert history.owed(number) is Owed.SNAPSHOT


def test_who_has_a_state_of_another_epoch_is_owed_the_news_and_a_snapshot() -> None:
    """F6"""
    history = shown(1, 2)
    number = history.head.number
    history.restart(OTHER, 1, 0, [], 0)
    assert history.owed(number) is Owed.SEASON
    assert history.owed(history.head.number) is Owed.NOTHING


def test_a_known_position_is_resumed() -> None:
    mark = shown(3, 7, 9).resume(Position(EPOCH, 7))
    assert mark is not None
    assert mark.rows == [Row(1, 7, 0)]


@pytest.mark.parametrize("have", [None, Position(EPOCH, 8), Position(EPOCH, 10), Position(OTHER, 7)])
def test_any_other_position_is_not_resumed(have: Position | None) -> None:
    """D10: a version that another process showed may have had other rows."""
    assert shown(3, 7, 9).resume(have) is None


def test_a_board_without_an_epoch_is_never_resumed() -> None:
    history = History(KEEP)
    history.restart(None, 0, 0, [], 0)
    assert history.resume(Position(EPOCH, 0)) is None


def test_of_several_states_of_one_version_the_first_is_resumed() -> None:
    history = shown(3)
    history.advance(3, 10, [Row(1, 3, 0)], 1)
    mark = history.resume(Position(EPOCH, 3))
    assert mark is not None
    assert mark.names_at == 0


def test_an_older_version_of_the_same_epoch_is_refused() -> None:
    with pytest.raises(ValueError, match="only rise"):
        shown(3, 7).advance(6, 10, [], 0)


def test_a_view_that_keeps_nothing_owes_snapshots() -> None:
    history = History(0)
    history.restart(EPOCH, 1, 0, [], 0)
    number = history.head.number
    history.advance(2, 0, [], 0)
    assert history.owed(number) is Owed.SNAPSHOT


class SlowReaders(RuleBasedStateMachine):
    """A board, a history, and clients of which only some take what they are owed, in any order."""

    @initialize()
    def begin(self) -> None:
        self.history = History(KEEP)
        self.outbox: Outbox[str] = Outbox()
        self.screens: dict[str, tuple[str | None, int, list[Row]]] = {}
        self.epochs = 0
        self.replace([])

    @rule(rows=lists_of_rows)
    def change(self, rows: list[Row]) -> None:
        self.history.advance(self.history.head.version + 1, len(rows), rows, 0)

    @rule(rows=lists_of_rows)
    def replace(self, rows: list[Row]) -> None:
        self.epochs += 1
        self.history.restart(f"{self.epochs:016x}", 1, len(rows), rows, 0)

    @rule(name=st.sampled_from("abcd"))
    def join(self, name: str) -> None:
        head = self.history.head
        self.screens[name] = (self.history.epoch, head.version, list(head.rows))
        self.outbox.gave(name, head.number)

    @rule(name=st.sampled_from("abcd"))
    def leave(self, name: str) -> None:
        assert self.outbox.leave(name) == (name in self.screens)
        self.screens.pop(name, None)

    @rule(names=st.sets(st.sampled_from("abcd")))
    def take(self, names: set[str]) -> None:
        for name in self.outbox.members():
            if name in names:
                self._catch_up(name)

    def _catch_up(self, name: str) -> None:
        number, head = self.outbox.got(name), self.history.head
        assert number is not None
        epoch, version, rows = self.screens[name]
        match self.history.owed(number):
            case Owed.DIFF:
                mark = self.history.mark(number)
                assert (epoch, version) == (self.history.epoch, mark.version)
                rows = apply(rows, difference(mark.rows, head.rows))
            case Owed.SNAPSHOT:
                assert epoch == self.history.epoch
                rows = list(head.rows)
            case Owed.SEASON:
                assert epoch != self.history.epoch
                rows = list(head.rows)
        self.screens[name] = (self.history.epoch, head.version, rows)
        self.outbox.gave(name, head.number)

    @invariant()
    def who_is_owed_nothing_has_the_newest_rows(self) -> None:
        for name, (epoch, version, rows) in self.screens.items():
            number = self.outbox.got(name)
            assert number is not None
            if self.history.owed(number) is Owed.NOTHING:
                head = self.history.head
                assert (epoch, version, rows) == (self.history.epoch, head.version, head.rows)

    @invariant()
    def members_are_those_who_joined_and_did_not_leave(self) -> None:
        assert set(self.outbox.members()) == self.screens.keys()
        assert len(self.outbox) == len(self.screens)


TestSlowReaders = SlowReaders.TestCase
TestSlowReaders.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
