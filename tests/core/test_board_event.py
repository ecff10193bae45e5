"""Events as the board's scripts write them, and texts that are none."""

import pytest

from server.core.board_event import BoardEvent, parse_event

EPOCH = "00112233445566ff"


def test_an_event_gives_players_and_scores_in_the_order_they_were_made() -> None:
    text = (
        b'{"epoch":"00112233445566ff","version":7,"rows":[[42,9007199254740991,null,1],'
        b"[-9223372036854775808,0,3,2],[9223372036854775807,null,5,null]]}"
    )
    players, scores = [42, -(2**63), 2**63 - 1], [2**53 - 1, 0, -1]
    assert parse_event(text) == BoardEvent(EPOCH, 7, players, scores)


def test_an_event_of_a_new_board_tells_why() -> None:
    text = b'{"epoch":"00112233445566ff","version":1,"rows":[],"reason":"reset"}'
    assert parse_event(text) == BoardEvent(EPOCH, 1, [], [], "reset")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"\xff\xfe",
        b'{"epoch":"e","version":7}',
        b'{"epoch":"e","version":0,"rows":[]}',
        b'{"epoch":"e","version":7.5,"rows":[]}',
        b'{"epoch":"e","version":7,"rows":[[1,2]]}',
        b'{"epoch":"e","version":7,"rows":[["1",2,null,1]]}',
        b'{"epoch":"e","version":7,"rows":[[9223372036854775808,2,null,1]]}',
        b'{"epoch":"e","version":7,"rows":[[1,9007199254740992,null,1]]}',
        b'{"epoch":"e","version":7,"rows":[[1,-1,null,1]]}',
    ],
)
def test_what_no_script_writes_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_event(text)
