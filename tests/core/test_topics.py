"""Topics: one name for one view of one board."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.core.topics import Around, Limits, RankUps, Top, Topic, parse_topic

LIMITS = Limits(max_limit=1000, max_radius=50)


@pytest.mark.parametrize(
    ("topic", "name"),
    [
        (Topic("s12", Top(100)), "s12/top/100"),
        (Topic("s12", Around(42, 5)), "s12/around/42/5"),
        (Topic("s12", Around(-(2**63), 0)), "s12/around/-9223372036854775808/0"),
        (Topic("s12", RankUps()), "s12/rankups"),
    ],
)
def test_a_topic_has_the_name_that_the_design_gives(topic: Topic, name: str) -> None:
    assert str(topic) == name


@given(st.integers(1, 1000), st.integers(-(2**63), 2**63 - 1), st.integers(0, 50))
def test_equal_views_are_one_topic_however_they_are_asked_for(limit: int, player: int, radius: int) -> None:
    asked = {"board": "s12", "view": "top", "limit": limit, "player": "ignored", "radius": -1}
    assert parse_topic(asked, LIMITS) == Topic("s12", Top(limit))
    asked = {"board": "s12", "view": "around", "player": str(player), "radius": radius, "limit": "ignored"}
    assert parse_topic(asked, LIMITS) == Topic("s12", Around(player, radius))
