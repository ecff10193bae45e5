"""When ticks come, how many commands pass, and when a reader is stuck."""

from hypothesis import given
from hypothesis import strategies as st

from server.core.pace import Allowance, Hold, tick_interval


def test_a_tick_that_costs_next_to_nothing_is_soon_followed_by_another() -> None:
    assert tick_interval(0.0, 0.1) == 0.025


def test_a_tick_that_takes_much_of_the_loop_is_followed_at_the_longest_interval() -> None:
    assert tick_interval(0.04, 0.1) == 0.1


@given(st.floats(0, 10), st.floats(0.005, 10))
def test_an_interval_is_never_longer_than_the_setting(spent: float, longest: float) -> None:
    assert 0 < tick_interval(spent, longest) <= longest


def test_the_command_after_as_many_as_a_second_may_have_is_one_too_many() -> None:
    allowance = Allowance(0)
    assert all(allowance.counts(10.0 + n / 100, 20) for n in range(20))
    assert not allowance.counts(10.9, 20)


def test_a_second_later_as_many_pass_again() -> None:
    allowance = Allowance(0)
    assert all(allowance.counts(10.0, 20) for _ in range(20))
    assert all(allowance.counts(11.0, 20) for _ in range(20))
    assert not allowance.counts(11.5, 20)


def test_the_stock_of_subscriptions_is_used_up_once_for_all() -> None:
    allowance = Allowance(3)
    assert [allowance.opens() for _ in range(5)] == [True, True, True, False, False]


def test_a_reader_that_takes_a_byte_now_and_then_is_not_stuck() -> None:
    hold = Hold(1000, now=0.0)
    assert hold.moved(999, now=5.0)
    assert hold.moved(998, now=14.0)
    assert hold.still_for(15.0) == 1.0


def test_bytes_handed_meanwhile_do_not_hide_that_some_were_taken() -> None:
    hold = Hold(1000, now=0.0)
    hold.hand(500)
    assert hold.moved(1400, now=1.0)
    assert not hold.moved(1400, now=2.0)


def test_a_reader_that_takes_nothing_is_still_however_much_it_is_handed() -> None:
    hold = Hold(1000, now=0.0)
    for second in range(1, 11):
        hold.hand(100)
        assert not hold.moved(1000 + 100 * second, now=float(second))
    assert hold.still_for(10.0) == 10.0
