"""The demo's data: every result on its match day, every flag a team's."""

from itertools import pairwise

from server.demo import history
from server.demo.history import Match, best_match, flag, load_flags, load_names, load_results, match_days


def test_match_days_hold_every_result_once_and_in_order() -> None:
    results = load_results()
    days = match_days(results)

    assert (days[0].start, days[-1].end) == (0, len(results))
    assert all(day.end == after.start and day.us < after.us for day, after in pairwise(days))
    assert all({it.achieved_us for it in results[day.start : day.end]} == {day.us} for day in days)


def test_a_match_stands_in_the_data_as_two_results_beside_each_other() -> None:
    results = load_results()

    assert all(home.match_id == away.match_id for home, away in zip(results[::2], results[1::2], strict=True))


def test_the_match_of_a_day_is_the_one_with_the_most_goals() -> None:
    results = load_results()
    day = match_days(results)[1]

    assert best_match(results[day.start : day.end]) == Match(home=2, home_goals=4, away=1, away_goals=2)
    assert best_match([]) is None


def test_a_flag_is_two_letters_or_a_black_flag_with_tags() -> None:
    assert flag("BR") == "\U0001f1e7\U0001f1f7"
    assert flag("GB-SCT") == "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"


def test_flags_are_those_of_teams_and_no_two_teams_share_one() -> None:
    flags = load_flags()

    assert flags.keys() <= load_names().keys()
    assert len(set(flags.values())) == len(flags) > 230
    assert {load_names()[player] for player in load_names() if player not in flags} >= {
        "Northern Ireland",
        "Yugoslavia",
    }


def test_the_season_is_the_one_that_the_results_are_of() -> None:
    season = history.load_season(0)

    assert {result.season_id for result in load_results()} == {season.season_id}
    assert season.operator == "sum"
