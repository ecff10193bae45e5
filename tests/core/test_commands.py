"""Client frames: what is understood, and the reason where one is not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.core.commands import (
    Auth,
    Declined,
    Ping,
    Subscribe,
    Unsubscribe,
    parse_command,
)
from server.core.position import Position
from server.core.topics import Around, Limits, RankUps, Top, Topic
from server.errors import KINDS

LIMITS = Limits(max_limit=1000, max_radius=50)
EPOCH = "5f0c6e1d2a3b4c5d"


def parse(**fields: object) -> object:
    return parse_command(json.dumps(fields), LIMITS)


def declined(text: str) -> Declined:
    found = parse_command(text, LIMITS)
    assert isinstance(found, Declined)
    assert found.code in KINDS
    return found


def test_a_subscription_to_the_top() -> None:
    found = parse(id=1, op="subscribe", board="s12", view="top", limit=10)
    assert found == Subscribe(1, Topic("s12", Top(10)), None)


def test_the_top_has_100_rows_where_no_limit_is_named() -> None:
    assert parse(id=1, op="subscribe", board="s12", view="top") == Subscribe(1, Topic("s12", Top(100)), None)


def test_a_subscription_around_a_player() -> None:
    found = parse(id=1, op="subscribe", board="s12", view="around", player="-9223372036854775808", radius=0)
    assert found == Subscribe(1, Topic("s12", Around(-(2**63), 0)), None)


def test_the_rows_around_are_5_to_each_side_where_no_radius_is_named() -> None:
    found = parse(id=1, op="subscribe", board="s12", view="around", player="42")
    assert found == Subscribe(1, Topic("s12", Around(42, 5)), None)


def test_a_subscription_to_rank_ups() -> None:
    assert parse(id=1, op="subscribe", board="s12", view="rankups") == Subscribe(
        1, Topic("s12", RankUps()), None
    )


def test_a_subscription_that_resumes() -> None:
    found = parse(id=1, op="subscribe", board="s12", view="top", have={"epoch": EPOCH, "version": 7})
    assert found == Subscribe(1, Topic("s12", Top(100)), Position(EPOCH, 7))


def test_the_other_commands() -> None:
    assert parse(id="a", op="unsubscribe", topic="s12/top/10") == Unsubscribe("a", "s12/top/10")
    assert parse(id=2, op="auth", token="x.y.z") == Auth(2, "x.y.z")
    assert parse(id=3, op="ping", more="ignored") == Ping(3)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "bad_json"),
        ("{", "bad_json"),
        ('{"id":1,"op":"ping"} x', "bad_json"),
        ('{"id":NaN,"op":"ping"}', "bad_json"),
        ('{"id":1,"op":"ping","x":Infinity}', "bad_json"),
        ('{"id":"\\ud800","op":"ping"}', "bad_json"),
        ("[" * 4000, "bad_json"),
        ("null", "bad_request"),
        ("[]", "bad_request"),
        ('{"op":"ping"}', "bad_request"),
        ('{"id":1.0,"op":"ping"}', "bad_request"),
        ('{"id":true,"op":"ping"}', "bad_request"),
        ('{"id":9007199254740992,"op":"ping"}', "bad_request"),
        ('{"id":{},"op":"ping"}', "bad_request"),
        ('{"id":1}', "unknown_op"),
        ('{"id":1,"op":"publish"}', "unknown_op"),
        ('{"id":1,"op":["ping"]}', "unknown_op"),
        ('{"id":1,"op":"unsubscribe"}', "bad_request"),
        ('{"id":1,"op":"auth","token":7}', "bad_request"),
        ('{"id":1,"op":"subscribe","view":"top"}', "unknown_board"),
        ('{"id":1,"op":"subscribe","board":"12","view":"top"}', "unknown_board"),
        ('{"id":1,"op":"subscribe","board":"s12"}', "unknown_view"),
        ('{"id":1,"op":"subscribe","board":"s12","view":"bottom"}', "unknown_view"),
        ('{"id":1,"op":"subscribe","board":"s12","view":"top","limit":0}', "bad_request"),
        ('{"id":1,"op":"subscribe","board":"s12","view":"top","limit":"10"}', "bad_request"),
        ('{"id":1,"op":"subscribe","board":"s12","view":"top","limit":10.0}', "bad_request"),
        ('{"id":1,"op":"subscribe","board":"s12","view":"top","limit":null}', "bad_request"),
        ('{"id":1,"op":"subscribe","board":"s12","view":"top","limit":1001}', "limit_too_big"),
        ('{"id":1,"op":"subscribe","board":"s12","view":"around"}', "bad_player"),
        ('{"id":1,"op":"subscribe","board":"s12","view":"around","player":42}', "bad_player"),
        ('{"id":1,"op":"subscribe","board":"s12","view":"around","player":"042"}', "bad_player"),
        ('{"id":1,"op":"subscribe","board":"s12","view":"around","player":"42","radius":-1}', "bad_request"),
        (
            '{"id":1,"op":"subscribe","board":"s12","view":"around","player":"42","radius":51}',
            "radius_too_big",
        ),
        ('{"id":1,"op":"subscribe","board":"s12","view":"top","have":7}', "bad_request"),
        (
            '{"id":1,"op":"subscribe","board":"s12","view":"top","have":{"epoch":"x","version":7}}',
            "bad_request",
        ),
    ],
)
def test_a_frame_that_is_not_understood_is_declined_with_its_code(text: str, code: str) -> None:
    """D8, D11, F10"""
    assert declined(text).code == code


def test_a_refusal_has_the_frames_id_where_it_has_one() -> None:
    assert declined('{"id":"a7","op":"fly"}').id == "a7"
    assert declined("{}").id is None


def test_a_refused_limit_names_the_value_the_limit_and_the_setting() -> None:
    reason = declined('{"id":1,"op":"subscribe","board":"s12","view":"top","limit":5000}').reason
    assert "5000" in reason
    assert "1000" in reason
    assert "RANKCAST_MAX_LIMIT" in reason


def test_a_refused_radius_names_the_value_the_limit_and_the_setting() -> None:
    reason = declined(
        '{"id":1,"op":"subscribe","board":"s12","view":"around","player":"1","radius":77}'
    ).reason
    assert "77" in reason
    assert "50" in reason
    assert "RANKCAST_MAX_RADIUS" in reason


def test_a_token_never_shows_in_a_refusal() -> None:
    assert "secret" not in declined('{"id":1,"op":"auth","token":["secret"]}').reason


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
fields = st.sampled_from(["id", "op", "board", "view", "limit", "player", "radius", "have", "topic", "token"])
words = st.sampled_from(["subscribe", "unsubscribe", "auth", "ping", "top", "around", "rankups", "s12", "42"])


@given(st.dictionaries(fields, words | values))
def test_no_object_raises(frame: dict[str, object]) -> None:
    parse_command(json.dumps(frame), LIMITS)


@given(st.text())
def test_no_text_raises(text: str) -> None:
    parse_command(text, LIMITS)
