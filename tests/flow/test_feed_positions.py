"""Many boards, one reader: each gets every range once, in order, and nobody waits for ever."""

from hypothesis import given
from hypothesis import strategies as st

from server.feed.positions import LONGEST_WAIT_SECONDS, TURN_SECONDS, Partition

END = 40


def opened(*applied: int) -> Partition:
    partition = Partition()
    for season_id, at in enumerate(applied):
        partition.open(season_id, at, now=0)
    return partition


def read(partition: Partition, start: int, end: int, now: float) -> list[int]:
    """Read a range for all boards that it is for."""
    served = partition.served(start, end, now)
    for season_id in served:
        partition.under_way(season_id, end)
        partition.done(season_id, end, now)
    return served


def test_boards_at_one_place_are_read_together() -> None:
    partition = opened(5, 5, 5)
    assert partition.next_read(5, END, now=0) == 5
    assert read(partition, 5, 9, now=0) == [0, 1, 2]
    assert partition.next_read(9, END, now=0) == 9


def test_a_board_that_went_back_is_read_from_its_own_place() -> None:
    partition = opened(20, 20)
    partition.back(1, 3)
    assert partition.next_read(20, END, now=0) == 3
    assert read(partition, 3, 8, now=0) == [1]


def test_those_in_front_get_their_turn_while_one_catches_up() -> None:
    partition = opened(20, 3)
    assert partition.next_read(20, END, now=0) == 3
    read(partition, 3, 5, now=0)
    assert partition.next_read(5, END, now=TURN_SECONDS / 2) == 5
    assert partition.next_read(5, END, now=TURN_SECONDS) == 20
    read(partition, 20, 22, now=TURN_SECONDS)
    assert partition.next_read(22, END, now=TURN_SECONDS * 1.5) == 22
    assert partition.next_read(22, END, now=TURN_SECONDS * 2) == 5


def test_whoever_is_behind_gets_all_turns_when_there_is_nothing_in_front() -> None:
    partition = opened(END, 3)
    assert partition.next_read(END, END, now=0) == 3
    assert partition.next_read(3, END, now=TURN_SECONDS * 2) == 3


def test_a_board_that_waits_holds_nobody_up() -> None:
    partition = opened(7, 7)
    partition.wait(1, 7, now=0, jitter=1.0)
    assert partition.served(7, 9, now=0) == [0]
    read(partition, 7, 9, now=0)
    assert partition.next_read(9, END, now=0.01) == 9
    assert partition.next_read(9, END, now=LONGEST_WAIT_SECONDS) == 7


def test_waits_grow_up_to_the_longest_and_begin_anew_after_a_success() -> None:
    partition = opened(7)
    place = partition.places[0]
    waits = []
    for _ in range(12):
        partition.wait(0, 7, now=0, jitter=1.0)
        waits.append(place.held_until)
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST_WAIT_SECONDS
    partition.done(0, 9, now=0)
    partition.wait(0, 9, now=0, jitter=1.0)
    assert place.held_until == waits[0]


def test_nothing_is_read_while_no_board_wants_anything() -> None:
    assert opened().next_read(0, END, now=0) is None
    partition = opened(4)
    partition.wait(0, 4, now=0, jitter=1.0)
    assert partition.next_read(4, END, now=0) is None


def test_a_range_under_way_counts_for_what_is_read_next_and_not_for_what_is_done() -> None:
    partition = opened(4)
    partition.under_way(0, 9)
    assert partition.next_read(9, END, now=0) == 9
    assert partition.applied() == 4


def test_the_slowest_board_says_how_far_the_partition_is() -> None:
    partition = opened(9, 4, 7)
    assert partition.applied() == 4
    partition.lose(1)
    assert partition.applied() == 7
    assert opened().applied() is None


def test_a_board_with_results_on_their_way_is_not_told_that_it_got_nothing() -> None:
    partition = Partition()
    partition.open(12, 10, 0.0)
    partition.under_way(12, 15)
    assert partition.idle(1.0, 0.7) == []  # a call from 15 on would find the board still at 10
    partition.done(12, 15, 1.0)
    assert partition.idle(2.0, 0.7) == [12]


def test_a_board_that_got_nothing_of_late_is_told_so() -> None:
    partition = opened(9, 9)
    partition.done(0, 9, now=3)
    assert partition.idle(now=3.5, every=1) == [1]


@given(
    places=st.lists(st.integers(0, END), min_size=1, max_size=5),
    events=st.lists(
        st.tuples(
            st.sampled_from(["read", "read", "read", "back", "wait"]), st.integers(0, 4), st.integers(0, END)
        ),
        max_size=60,
    ),
)
def test_every_board_gets_every_range_without_a_gap_and_all_reach_the_end(
    places: list[int], events: list[tuple[str, int, int]]
) -> None:
    partition = opened(*places)
    taken = dict(enumerate(places))  # what the script's `applied` would say
    reading, now = 0, 0.0

    def round_(length: int) -> None:
        nonlocal reading
        wanted = partition.next_read(reading, END, now)
        if wanted is None or wanted >= END:
            return
        end = min(END, wanted + length)
        for season_id in partition.served(wanted, end, now):
            start = partition.places[season_id].expected
            assert start <= taken[season_id]  # else the script would tell the board to seek
            partition.under_way(season_id, end)
            taken[season_id] = max(taken[season_id], end)
            partition.done(season_id, taken[season_id], now)
        reading = end

    for kind, which, number in events:
        season_id = which % len(places)
        now += 0.05
        if kind == "read":
            round_(1 + number % 7)
        elif kind == "back":
            taken[season_id] = min(taken[season_id], number)
            partition.back(season_id, taken[season_id])
        else:
            partition.wait(season_id, taken[season_id], now, jitter=0.5)
    for _ in range(200):
        now += 0.1
        round_(5)
    assert set(taken.values()) == {END}
