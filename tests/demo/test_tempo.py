"""The demo's pace: match days that are due, whatever happens to speed and clock."""

from hypothesis import given
from hypothesis import strategies as st

from server.demo.tempo import CATCH_UP_S, DAYS_A_SECOND, MOST_DUE, Tempo


def _played(tempo: Tempo, until: float, steps: int) -> int:
    """Match days that become due up to a time, looked at so often."""
    return sum(tempo.due(until * step / steps) for step in range(steps + 1))


@given(st.sampled_from([1, 2, 5, 10, 25, 50, 100]), st.integers(50, 400))
def test_speed_times_four_match_days_are_due_a_second_however_often_one_looks(speed: int, steps: int) -> None:
    days = _played(Tempo(speed), 10.0, steps)

    assert abs(days - 10 * speed * DAYS_A_SECOND) <= 1


def test_the_first_look_starts_the_clock() -> None:
    assert Tempo(100).due(1e9) == 0


def test_after_a_standstill_no_more_than_a_second_is_made_up_for() -> None:
    tempo = Tempo(10)
    tempo.due(0.0)

    assert tempo.due(3600.0) == 10 * DAYS_A_SECOND * CATCH_UP_S


def test_a_pause_is_no_time() -> None:
    tempo = Tempo(10)
    tempo.due(0.0)
    tempo.paused = True
    assert tempo.due(0.5) == 0
    tempo.paused = False

    assert tempo.due(0.625) == 5


def test_another_speed_counts_from_now_on() -> None:
    tempo = Tempo(1)
    tempo.due(0.0)
    assert tempo.due(0.25) == 1
    tempo.speed = 100

    assert tempo.due(0.375) == 50


def test_a_rest_is_forgotten_with_what_was_owed() -> None:
    tempo = Tempo(1)
    tempo.due(0.0)
    tempo.due(0.2)
    tempo.rest()

    assert tempo.due(100.0) == 0
    assert tempo.due(100.1) == 0


def test_never_more_match_days_at_once_than_one_sending_bears() -> None:
    tempo = Tempo(100_000)
    tempo.due(0.0)

    assert tempo.due(1.0) == MOST_DUE
