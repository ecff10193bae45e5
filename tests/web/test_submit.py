"""Results over HTTP: all of a request or none, each refusal with its place, code and reason."""

import orjson
import pytest

from server.core.results import Result
from server.core.season import Season
from server.errors import RankcastError
from server.settings import Settings
from server.web.problems import BadItemsError
from server.web.submit import parse

MATCH = "5f0c6e1d-2a3b-4c5d-8e9f-0a1b2c3d4e5f"
NOW_MS = 1_791_828_191_250
ACHIEVED = "2026-10-12T18:03:11.250Z"
SETTINGS = Settings(max_results_per_post=3)
SEASON = Season.parse(
    {
        "season_id": 12,
        "name": "Autumn",
        "starts_at": "2026-10-01T00:00:00Z",
        "ends_at": "2027-01-01T00:00:00Z",
    },
    created_us=NOW_MS * 1000,
)
GOOD = {"match_id": MATCH, "player_id": 42, "points": 1518, "achieved_at": ACHIEVED}


def _parse(body: object) -> list[Result]:
    text = body if isinstance(body, bytes) else orjson.dumps(body)
    return parse(text, SEASON, NOW_MS, SETTINGS)


def _refused(body: object) -> list[tuple[object, str]]:
    with pytest.raises(BadItemsError) as raised:
        _parse(body)
    assert raised.value.code == "bad_results"
    return [(error["index"], error["code"]) for error in raised.value.errors]


def test_one_result_takes_its_season_from_the_address() -> None:
    assert _parse(GOOD) == [Result(MATCH, 42, 12, 1518, NOW_MS * 1000)]


def test_a_list_keeps_its_order() -> None:
    results = _parse([GOOD | {"player_id": player} for player in (3, 1, 2)])

    assert [result.player_id for result in results] == [3, 1, 2]


def test_an_empty_list_is_fine() -> None:
    assert _parse([]) == []


@pytest.mark.parametrize("player", ["42", 42])
@pytest.mark.parametrize("season", ["12", 12])
def test_ids_may_be_numbers_or_text(player: object, season: object) -> None:
    assert _parse(GOOD | {"player_id": player, "season_id": season})[0].player_id == 42


def test_a_64_bit_id_as_text_keeps_its_digits() -> None:
    """E1"""
    assert _parse(GOOD | {"player_id": "9007199254740993"})[0].player_id == 9007199254740993


def test_the_java_shape_takes_its_season_from_the_address_too() -> None:
    body = {"matchId": MATCH, "playerId": 42, "points": 7, "secondsSinceSeasonStart": 60}

    assert _parse(body) == [Result(MATCH, 42, 12, 7, SEASON.starts_us + 60_000_000)]


def test_every_bad_item_is_named_and_none_is_taken() -> None:
    body = [GOOD, GOOD | {"points": -1}, GOOD | {"player_id": "007"}]

    assert _refused(body) == [(1, "points_negative"), (2, "bad_player_id")]


def test_a_result_of_another_season_is_refused() -> None:
    assert _refused(GOOD | {"season_id": 13}) == [(0, "wrong_season")]


@pytest.mark.parametrize("season", ["012", " 12", "+12", True, 12.0, None])
def test_a_season_id_that_is_not_canonical_is_refused(season: object) -> None:
    assert _refused(GOOD | {"season_id": season}) == [(0, "bad_season_id")]


def test_a_result_after_the_season_has_stopped_to_count_is_refused() -> None:
    late_ms = SEASON.ends_us // 1000 + SEASON.grace_us // 1000
    with pytest.raises(BadItemsError) as raised:
        parse(orjson.dumps(GOOD), SEASON, late_ms, SETTINGS)

    assert raised.value.errors[0]["code"] == "too_late"


@pytest.mark.parametrize(
    "points", ["NaN", "Infinity", "-Infinity", "1e400", '"12"', "true", "12.0", "-0.0", "null"]
)
def test_points_that_are_no_integer_are_refused(points: str) -> None:
    """D11"""
    text = orjson.dumps(GOOD | {"points": 0}).replace(b'"points":0', b'"points":' + points.encode())
    with pytest.raises((BadItemsError, RankcastError)) as raised:
        _parse(text)

    assert raised.value.code in ("bad_results", "bad_json")


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 10_000, b"\xef\xbb\xbf{}", b"nul"])
def test_what_is_no_json_is_refused_as_such(body: bytes) -> None:
    with pytest.raises(RankcastError) as raised:
        _parse(body)

    assert raised.value.code == "bad_json"


@pytest.mark.parametrize("body", [b"1", b'"x"', b"null", b"[1]", b"[[]]", b"[null]"])
def test_what_is_no_result_is_refused_with_its_place(body: bytes) -> None:
    assert _refused(body) == [(0, "not_an_object")]


def test_a_list_above_the_limit_is_refused_and_names_value_limit_and_setting() -> None:
    with pytest.raises(RankcastError) as raised:
        _parse([GOOD] * 4)

    assert raised.value.code == "batch_too_big"
    assert "4 results" in raised.value.reason
    assert "at most 3" in raised.value.reason
    assert "RANKCAST_MAX_RESULTS_PER_POST" in raised.value.reason


def test_a_field_twice_is_refused() -> None:
    text = orjson.dumps(GOOD)[:-1] + b',"points":1}'

    assert _refused(text) == [(0, "duplicate_field")]
