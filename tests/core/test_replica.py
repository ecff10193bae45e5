"""A replica follows events: none left out, none twice, whatever order and losses they come with."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from server.core.board_event import BoardEvent
from server.core.codec import ScoreCodec
from server.core.order import OrderedIndex
from server.core.replica import Replica, Verdict, merge_events

CODEC = ScoreCodec(points_bits=21, time_bits=32, starts_us=0, tick_us=1_000_000)
E1, E2 = "1" * 16, "2" * 16


def score(points: int, second: int = 0) -> int:
    return CODEC.encode(points, second * 1_000_000)


def event(version: int, rows: dict[int, int], epoch: str = E1) -> BoardEvent:
    return BoardEvent(epoch, version, list(rows), list(rows.values()))


def index_of(board: dict[int, int]) -> OrderedIndex:
    return OrderedIndex.from_arrays(np.array([*board], np.int64), np.array([*board.values()], np.int64))


def replica_of(board: dict[int, int], version: int = 10, waiting_rows: int = 1000) -> Replica:
    replica = Replica(waiting_rows)
    replica.install(E1, version, index_of(board))
    replica.take_changes(CODEC)
    return replica


def board_of(replica: Replica) -> dict[int, int]:
    players, scores = replica.index.slice(1, replica.index.total)
    return dict(zip(players.tolist(), scores.tolist(), strict=True))


def test_at_the_start_there_is_no_board() -> None:
    replica = Replica(10)
    assert (replica.epoch, replica.version, replica.index.total) == (None, 0, 0)
    assert replica.offer(event(1, {1: 1})) is Verdict.OTHER_EPOCH


def test_the_picture_stays_as_it_is_until_what_was_gathered_is_applied() -> None:
    replica = replica_of({1: 5})
    assert replica.offer(event(11, {2: 6, 1: -1})) is Verdict.NEXT
    assert replica.offer(event(12, {2: 7})) is Verdict.NEXT
    assert (replica.version, replica.heard, board_of(replica)) == (10, 12, {1: 5})
    replica.apply()
    assert (replica.version, replica.gathered, board_of(replica)) == (12, False, {2: 7})


def test_a_repeated_event_changes_nothing() -> None:
    replica = replica_of({1: 5})
    assert replica.offer(event(10, {1: 99})) is Verdict.REPEATED
    assert not replica.gathered


def test_an_event_that_is_ahead_waits_until_the_hole_is_filled() -> None:
    replica = replica_of({1: 5})
    assert replica.offer(event(12, {1: 7})) is Verdict.AHEAD
    assert replica.offer(event(13, {2: 8})) is Verdict.AHEAD
    assert replica.is_behind
    replica.offer(event(11, {1: 6, 3: 1}))
    replica.drain()
    replica.apply()
    assert (replica.version, replica.is_behind) == (13, False)
    assert board_of(replica) == {1: 7, 2: 8, 3: 1}


def test_too_many_waiting_rows_are_let_go_rather_than_kept_in_part() -> None:
    replica = replica_of({1: 5}, waiting_rows=5)
    for version in (12, 13, 14):
        replica.offer(event(version, {1: version, 2: version}))
    assert replica.waiting(E1, 11, 14) is None
    assert replica.waiting(E1, 13, 14) == [event(14, {1: 14, 2: 14})]


def test_while_a_board_is_read_every_event_is_kept_also_of_the_coming_epoch() -> None:
    replica = replica_of({1: 5})
    replica.recording = True
    next_one, other = event(11, {1: 6}), event(2, {1: 1}, E2)
    replica.offer(next_one)
    replica.offer(other)
    assert replica.waiting(E1, 10, 11) == [next_one]
    assert replica.waiting(E2, 1, 2) == [other]
    assert replica.waiting(E2, 0, 2) is None
    assert replica.waiting(E2, 2, 2) == []


def test_a_new_picture_goes_on_with_what_was_heard_after_it() -> None:
    replica = replica_of({1: 5})
    replica.recording = True
    replica.offer(event(1, {7: 7}, E2))
    replica.offer(event(2, {8: 8}, E2))
    replica.recording = False
    replica.install(E2, 1, index_of({7: 7}), "reset")
    replica.drain()
    replica.apply()
    assert (replica.epoch, replica.version, replica.reason) == (E2, 2, "reset")
    assert board_of(replica) == {7: 7, 8: 8}


def test_changes_tell_who_was_touched_and_what_they_were_when_last_asked() -> None:
    replica = replica_of({1: score(50), 2: score(40), 3: score(30)})
    replica.offer(event(11, {3: score(45)}))
    replica.apply()
    replica.offer(event(12, {3: score(60), 9: score(1), 1: -1}))
    replica.apply()
    changes = replica.take_changes(CODEC)
    assert changes is not None
    assert changes.players.tolist() == [1, 3, 9]
    assert changes.points_before.tolist() == [50, 30, -1]
    assert changes.ranks_before.tolist() == [1, 3, 0]
    nothing = replica.take_changes(CODEC)
    assert nothing is not None
    assert nothing.players.tolist() == []


def test_changes_over_a_replaced_picture_cannot_be_told() -> None:
    replica = replica_of({1: score(50)})
    replica.install(E1, 20, index_of({1: score(60)}))
    assert replica.take_changes(CODEC) is None
    replica.offer(event(21, {1: score(70)}))
    replica.apply()
    changes = replica.take_changes(CODEC)
    assert changes is not None
    assert changes.points_before.tolist() == [60]


def test_changes_that_nobody_takes_are_let_go() -> None:
    replica = replica_of({})
    for version in range(11, 46):
        replica.offer(event(version, dict.fromkeys(range(3000), version)))
        replica.apply()
    assert replica.take_changes(CODEC) is None
    changes = replica.take_changes(CODEC)
    assert changes is not None
    assert changes.players.tolist() == []


def test_of_several_events_the_last_score_of_each_player_counts() -> None:
    players, scores = merge_events([event(1, {1: 5, 2: 5}), event(2, {2: -1}), event(3, {1: 4})])
    assert dict(zip(players.tolist(), scores.tolist(), strict=True)) == {1: 4, 2: -1}


rows = st.dictionaries(st.integers(0, 5), st.integers(-1, 9), max_size=4)


@given(st.lists(rows, min_size=1, max_size=12), st.data())
def test_whatever_order_events_come_in_the_end_is_the_same(
    batches: list[dict[int, int]], data: st.DataObject
) -> None:
    events = [event(version, batch) for version, batch in enumerate(batches, start=11)]
    replica, board = replica_of({0: 1}), {0: 1}
    for heard in data.draw(st.permutations(events + events[:3])):
        replica.offer(heard)
        replica.drain()
    replica.apply()
    for batch in batches:
        board.update(batch)
    assert replica.version == events[-1].version
    assert board_of(replica) == {player: points for player, points in board.items() if points >= 0}
