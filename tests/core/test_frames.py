"""What frames say, field by field, as DESIGN's table of server frames has it."""

import json

from hypothesis import given

from server.core import frames
from server.core.diff import apply, difference
from server.core.frames import Head, Rise
from server.core.position import Position
from server.core.rows import Row, checksum
from server.core.wire import Frame
from tests.core.boards import two_boards

EPOCH = "5f0c6e1d2a3b4c5d"
HEAD = Head("s12/top/2", EPOCH, 9, 1000)
ROWS = [Row(42, 1518, 1791828191000), Row(-(2**63), 3, -1)]


def _said(frame: Frame) -> object:
    return json.loads(frame.payload, parse_constant=_refuse)


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


def test_welcome_names_the_protocol_the_heartbeat_and_the_limits() -> None:
    assert _said(frames.welcome(15_000, {"subscriptions": 32})) == {
        "type": "welcome",
        "protocol": "rankcast.v1",
        "heartbeat_ms": 15_000,
        "limits": {"subscriptions": 32},
    }


def test_ok_has_the_topic_of_a_subscription_and_whether_it_was_resumed() -> None:
    assert _said(frames.ok(1, "s12/rankups", False)) == {
        "type": "ok",
        "id": 1,
        "topic": "s12/rankups",
        "resumed": False,
    }


def test_ok_of_other_commands_has_the_id_alone() -> None:
    assert _said(frames.ok("a")) == {"type": "ok", "id": "a"}


def test_an_error_has_code_reason_and_whether_to_try_again() -> None:
    assert _said(frames.error(None, "bad_json", "no", False)) == {
        "type": "error",
        "id": None,
        "code": "bad_json",
        "reason": "no",
        "retry": False,
    }


def test_a_snapshot_has_all_rows_in_order_with_names_and_crc() -> None:
    frame = frames.snapshot(HEAD, ROWS, {42: "Ada"})
    assert _said(frame) == {
        "type": "snapshot",
        "topic": "s12/top/2",
        "epoch": EPOCH,
        "version": 9,
        "total": 1000,
        "rows": [["42", 1518, 1791828191000], ["-9223372036854775808", 3, -1]],
        "names": {"42": "Ada"},
        "crc": checksum(ROWS),
    }
    assert frame.position == Position(EPOCH, 9)


def test_the_snapshot_of_a_board_that_is_still_being_made_has_no_position() -> None:
    """D14: it has no epoch, which no board that stands lacks."""
    frame = frames.snapshot(Head("s12/top/2", None, 0, 0), [], {})
    assert frame.position is None
    assert json.loads(frame.payload)["epoch"] is None


def test_a_diff_has_gone_and_set_with_ranks_and_the_crc_of_the_rows_at_to() -> None:
    frame = frames.diff(HEAD, 7, difference([Row(1, 1, 1), ROWS[1]], ROWS), ROWS, {42: "Ada"})
    assert _said(frame) == {
        "type": "diff",
        "topic": "s12/top/2",
        "epoch": EPOCH,
        "from": 7,
        "to": 9,
        "total": 1000,
        "gone": ["1"],
        "set": [["42", 1518, 1791828191000, 1]],
        "names": {"42": "Ada"},
        "crc": checksum(ROWS),
    }
    assert frame.position == Position(EPOCH, 9)


def test_an_empty_diff_still_has_gone_and_set() -> None:
    said = json.loads(frames.diff(HEAD, 9, difference(ROWS, ROWS), ROWS, {}).payload)
    assert (said["gone"], said["set"], said["names"]) == ([], [], {})


@given(two_boards())
def test_the_law_holds_on_what_frames_carry(boards: tuple[list[Row], list[Row]]) -> None:
    before, after = boards
    said = json.loads(frames.diff(HEAD, 7, difference(before, after), after, {}).payload)
    out = {*said["gone"], *(player for player, *_ in said["set"])}
    rows = [row for row in before if str(row.player) not in out]
    for player, points, achieved_ms, rank in said["set"]:
        rows.insert(rank - 1, Row(int(player), points, achieved_ms))
    assert rows == after == apply(before, difference(before, after))
    assert said["crc"] == checksum(rows)


def test_around_has_the_rank_of_its_first_row() -> None:
    said = _said(frames.around(HEAD, 499, ROWS, {}))
    assert said == {
        "type": "around",
        "topic": "s12/top/2",
        "epoch": EPOCH,
        "version": 9,
        "total": 1000,
        "rank": 499,
        "rows": [["42", 1518, 1791828191000], ["-9223372036854775808", 3, -1]],
        "names": {},
    }


def test_around_without_rows_is_the_short_form() -> None:
    assert "rows" not in json.loads(frames.around(HEAD, 499, None, {}).payload)


def test_around_of_an_unranked_player_has_rank_null_and_no_rows() -> None:
    """F10"""
    said = json.loads(frames.around(HEAD, None, [], {}).payload)
    assert (said["rank"], said["rows"]) == (None, [])


def test_a_rankup_of_a_new_player_has_before_null_and_moves_no_position() -> None:
    frame = frames.rankup("s12/rankups", EPOCH, 9, Rise(42, 1518, None, 3))
    assert _said(frame) == {
        "type": "rankup",
        "topic": "s12/rankups",
        "epoch": EPOCH,
        "version": 9,
        "player": "42",
        "points": 1518,
        "before": None,
        "after": 3,
    }
    assert frame.position is None


def test_a_heartbeat_tells_the_heads_that_the_socket_was_sent() -> None:
    said = _said(frames.heartbeat(1_700_000_000_000, {"s12/top/2": (EPOCH, 9)}))
    assert said == {"type": "heartbeat", "at": 1_700_000_000_000, "heads": {"s12/top/2": [EPOCH, 9]}}


def test_news_of_boards_and_of_the_end() -> None:
    assert _said(frames.stale("s12", "lost", 5)) == {
        "type": "stale",
        "board": "s12",
        "reason": "lost",
        "since": 5,
    }
    assert _said(frames.fresh("s12")) == {"type": "fresh", "board": "s12"}
    assert _said(frames.season("s12/top/2", "s12", "reset")) == {
        "type": "season",
        "topic": "s12/top/2",
        "board": "s12",
        "reason": "reset",
    }
    assert _said(frames.bye(3001, 1000, 5000)) == {
        "type": "bye",
        "code": 3001,
        "retry_after_ms": 1000,
        "jitter_ms": 5000,
    }
