"""Commands, their limits, tokens and origins."""

import asyncio
import time

import jwt
import pytest
from websockets.exceptions import InvalidStatus
from websockets.frames import Opcode

from server.settings import variable
from tests.edge.clients import client, masked, raw
from tests.edge.stage import BOARD, running
from tests.waiting import until

TEN = {player: 100 * player for player in range(1, 11)}
SECRET = "0123456789abcdef0123456789abcdef"


def token(lives_s: float, secret: str = SECRET) -> str:
    return jwt.encode({"exp": time.time() + lives_s}, secret, "HS256")


# -- commands


async def test_ping_is_answered_with_its_id() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        assert await viewer.command("ping") == {"type": "ok", "id": 1}


async def test_a_command_may_come_before_the_welcome_was_read() -> None:
    """G7"""
    async with running(TEN) as stage, raw(stage.port) as viewer:
        await viewer.command(id="first", op="subscribe", board=BOARD, view="top")
        await viewer.read_until(lambda: viewer.screen.shows("s12/top/100"))
        assert [frame["type"] for frame in viewer.frames] == ["welcome", "ok", "snapshot"]


async def test_what_is_not_understood_is_refused_and_the_socket_stays_open() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        await viewer.line.send("{nonsense")
        error = await viewer.find(lambda frame: frame["type"] == "error")
        assert (error["id"], error["code"], error["retry"]) == (None, "bad_json", False)
        assert (await viewer.command("ping"))["type"] == "ok"
        assert stage.count("commands_total", outcome="bad_json") == 1


async def test_a_board_that_there_is_not_is_refused() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        error = await viewer.command("subscribe", board="s99", view="top")
        assert (error["code"], error["retry"]) == ("unknown_board", False)


async def test_a_topic_that_the_socket_does_not_hold_cannot_be_left() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        error = await viewer.command("unsubscribe", topic="s12/top/10")
        assert error["code"] == "not_subscribed"


async def test_after_unsubscribing_nothing_more_comes() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer, client(stage.port) as other:
        await viewer.top(10)
        shown = await other.top(10)
        assert (await viewer.command("unsubscribe", topic="s12/top/10"))["topic"] == "s12/top/10"
        version = stage.board.set({1: 5000})
        await until(lambda: shown.version == version)
        await viewer.command("ping")
        assert viewer.of("diff") == []


async def test_subscribing_again_is_no_second_subscription_and_brings_a_snapshot() -> None:
    """G7: how a client whose crc does not hold asks for a snapshot."""
    async with running(TEN) as stage, client(stage.port) as viewer:
        shown = await viewer.top(10)
        await viewer.top(10)
        assert stage.count("subscriptions", view="top") == 1
        version = stage.board.set({1: 5000})
        await until(lambda: shown.version == version)
        await until(lambda: viewer.screen["s12/top/10"].whole == 2)
        assert len(viewer.of("diff")) == 1
        assert (await viewer.command("unsubscribe", topic="s12/top/10"))["type"] == "ok"
        assert (await viewer.command("unsubscribe", topic="s12/top/10"))["code"] == "not_subscribed"


async def test_the_last_wish_wins_however_fast_boards_are_switched() -> None:
    """G7: no frame of the board that was left is taken for one of the other."""
    async with running(TEN) as stage, raw(stage.port) as viewer:
        stage.boards.add("s13", {7: 70})
        for number in range(6):
            board, other = ("s12", "s13") if number % 2 == 0 else ("s13", "s12")
            await viewer.command(id=2 * number, op="subscribe", board=board, view="top")
            if number:
                await viewer.command(id=2 * number + 1, op="unsubscribe", topic=f"{other}/top/100")
        await viewer.read_until(lambda: viewer.screen.shows("s13/top/100") and len(viewer.screen.topics) == 1)
        await until(lambda: stage.count("subscriptions", view="top") == 1)
        assert stage.hub.boards["s13"].views["s13/top/100"].outbox.members()


async def test_leaving_a_board_that_is_still_being_opened_takes_the_wish_back() -> None:
    """G7"""
    async with running(TEN) as stage, client(stage.port) as viewer:
        stage.boards.may_open.clear()
        asking = asyncio.create_task(viewer.command("subscribe", board=BOARD, view="top"))
        await until(lambda: [one for one in stage.hub.viewers if getattr(one, "waiting", ())])
        assert (await viewer.command("unsubscribe", topic="s12/top/100"))["type"] == "ok"
        assert (await asking)["code"] == "not_subscribed"
        stage.boards.may_open.set()
        await viewer.top(3)
        assert stage.count("subscriptions", view="top") == 1


async def test_everybody_who_waits_for_a_board_is_answered_once_it_is_open() -> None:
    async with running(TEN) as stage, client(stage.port) as one, client(stage.port) as other:
        stage.boards.may_open.clear()
        both = [asyncio.create_task(viewer.top()) for viewer in (one, other)]
        await until(lambda: sum(bool(getattr(who, "waiting", ())) for who in stage.hub.viewers) == 2)
        stage.boards.may_open.set()
        for shown in await asyncio.gather(*both):
            assert len(shown.rows) == 10


async def test_who_leaves_while_a_board_is_opened_is_forgotten() -> None:
    async with running(TEN) as stage, client(stage.port) as stays:
        stage.boards.may_open.clear()
        async with client(stage.port) as leaves:
            asking = asyncio.create_task(leaves.top())
            await until(lambda: [one for one in stage.hub.viewers if getattr(one, "waiting", ())])
        await until(lambda: len(stage.hub.viewers) == 1)
        asking.cancel()
        stage.boards.may_open.set()
        await stays.top()
        assert stage.count("subscriptions", view="top") == 1


# -- limits


async def test_one_subscription_more_than_a_socket_may_hold_is_refused_with_the_limit() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        for limit in range(1, 33):
            await viewer.top(limit)
        error = await viewer.command("subscribe", board=BOARD, view="top", limit=33)
        assert error["code"] == "too_many_subscriptions"
        assert "32" in error["reason"]
        assert variable("max_subscriptions") in error["reason"]
        await viewer.command("unsubscribe", topic="s12/top/1")
        await viewer.top(33)


async def test_subscriptions_that_wait_count_too() -> None:
    async with running(TEN, max_subscriptions=2) as stage, client(stage.port) as viewer:
        stage.boards.may_open.clear()
        waiting = [asyncio.create_task(viewer.top(limit)) for limit in (1, 2)]
        await until(lambda: any(len(getattr(one, "waiting", ())) == 2 for one in stage.hub.viewers))
        error = await viewer.command("subscribe", board=BOARD, view="top", limit=3)
        assert error["code"] == "too_many_subscriptions"
        stage.boards.may_open.set()
        await asyncio.gather(*waiting)


async def test_a_limit_above_the_largest_is_refused_with_the_limit() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        error = await viewer.command("subscribe", board=BOARD, view="top", limit=1001)
        assert error["code"] == "limit_too_big"
        assert variable("max_limit") in error["reason"]


async def test_more_commands_than_a_second_may_have_close_the_socket() -> None:
    async with running(TEN) as stage, raw(stage.port) as viewer:
        await viewer.send(masked(Opcode.TEXT, b'{"id":1,"op":"ping"}') * 21)
        await viewer.read_until(lambda: viewer.close)
        assert viewer.close_code == 3013
        assert len([frame for frame in viewer.frames if frame["type"] == "ok"]) == 20
        assert viewer.close is not None
        assert variable("max_commands_s").encode() in bytes(viewer.close.data)


async def test_ten_thousand_tiny_messages_reach_nobody_else() -> None:
    """D8"""
    async with running(TEN) as stage, raw(stage.port) as rude, client(stage.port) as viewer:
        shown = await viewer.top()
        await rude.send(masked(Opcode.PING) * 10_000)
        await rude.read_until(lambda: rude.close)
        version = stage.board.set({1: 5000})
        await until(lambda: shown.version == version)
        assert rude.close_code == 3013


async def test_a_client_that_comes_back_may_take_all_its_views_at_once() -> None:
    async with running(TEN) as stage, raw(stage.port) as viewer:
        for limit in range(1, 33):
            await viewer.command(id=limit, op="subscribe", board=BOARD, view="top", limit=limit)
        await viewer.read_until(lambda: len(viewer.screen.topics) == 32)
        assert viewer.close is None


async def test_a_socket_without_a_subscription_is_closed_after_a_while() -> None:
    async with running(TEN, first_subscription_s=0.2) as stage, raw(stage.port) as viewer:
        await viewer.read_until(lambda: viewer.close)
        assert viewer.close_code == 3502


async def test_a_socket_that_has_subscribed_once_is_not_closed_for_having_none() -> None:
    async with (
        running(TEN, first_subscription_s=0.2, heartbeat_ms=100) as stage,
        client(stage.port) as viewer,
    ):
        await viewer.top(10)
        await viewer.command("unsubscribe", topic="s12/top/10")
        await until(lambda: len(viewer.of("heartbeat")) == 5)
        assert viewer.of("heartbeat")[-1]["heads"] == {}


async def test_a_viewer_too_many_is_told_so() -> None:
    async with running(TEN, max_connections=1) as stage, client(stage.port), raw(stage.port) as late:
        await late.read_to_end()
        assert late.close_code == 3504
        assert late.frames == []
        assert len(stage.hub.viewers) == 1
        assert stage.count("viewers_refused_total", reason="too_many_connections") == 1


async def test_connections_of_one_address_can_be_limited() -> None:
    """D15"""
    async with running(TEN, max_connections_per_address=2) as stage:
        async with client(stage.port), client(stage.port), raw(stage.port) as third:
            await third.read_to_end()
            assert third.close_code == 3504
        await until(lambda: not stage.hub.viewers)
        async with client(stage.port) as again:
            await again.top()


async def test_a_client_of_another_protocol_is_told_to_reload() -> None:
    """E9"""
    async with running(TEN) as stage, client(stage.port, subprotocols=["rankcast.v9"]) as viewer:
        await viewer.done()
        assert viewer.line.close_code == 3501
        assert "rankcast.v1" in (viewer.line.close_reason or "")


async def test_a_client_that_names_no_protocol_is_served() -> None:
    async with running(TEN) as stage, client(stage.port, subprotocols=None) as viewer:
        await viewer.top()
        assert viewer.line.subprotocol is None


# -- origins

LISTED = "https://game.example,https://live.example:8443"


@pytest.mark.parametrize(
    "origin", ["https://game.example", "HTTPS://GAME.example", "https://live.example:8443"]
)
async def test_a_page_of_a_listed_origin_may_connect(origin: str) -> None:
    """D7"""
    async with running(TEN, origins=LISTED) as stage, client(stage.port, origin=origin) as viewer:
        await viewer.top()


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "https://game.example.evil.example",
        "http://game.example",
        "https://game.example:8443",
        "https://live.example",
        "null",
    ],
)
async def test_a_page_of_any_other_origin_is_refused_before_it_is_let_in(origin: str) -> None:
    """D7"""
    async with running(TEN, origins=LISTED) as stage:
        with pytest.raises(InvalidStatus) as refused:
            async with client(stage.port, origin=origin):
                pass
        assert refused.value.response.status_code == 403
        assert b"origin_refused" in refused.value.response.body
        assert not stage.hub.viewers


async def test_who_is_no_page_has_no_origin_and_may_connect() -> None:
    """D7: the rule for OBS's own sources, scripts and servers."""
    async with running(TEN, origins=LISTED) as stage, client(stage.port) as viewer:
        await viewer.top()


async def test_without_a_list_pages_of_all_origins_may_connect() -> None:
    async with running(TEN) as stage, client(stage.port, origin="https://any.example") as viewer:
        await viewer.top()


# -- tokens


async def test_where_tokens_are_needed_nothing_is_read_without_one() -> None:
    async with running(TEN, token_secret=SECRET) as stage, client(stage.port) as viewer:
        error = await viewer.command("subscribe", board=BOARD, view="top")
        assert error["code"] == "bad_token"
        assert (await viewer.command("auth", token=token(60)))["type"] == "ok"
        await viewer.top()


async def test_a_token_may_come_in_the_handshake() -> None:
    headers = {"Authorization": f"Bearer {token(60)}"}
    async with (
        running(TEN, token_secret=SECRET) as stage,
        client(stage.port, additional_headers=headers) as viewer,
    ):
        await viewer.top()


async def test_a_bad_token_in_the_handshake_is_refused() -> None:
    headers = {"Authorization": f"Bearer {token(60, 'f' * 32)}"}
    async with running(TEN, token_secret=SECRET) as stage:
        with pytest.raises(InvalidStatus) as refused:
            async with client(stage.port, additional_headers=headers):
                pass
        assert refused.value.response.status_code == 401


@pytest.mark.parametrize(
    ("sent", "code", "close"),
    [
        ("nonsense", "bad_token", 3500),
        (token(60, "f" * 32), "bad_token", 3500),
        (jwt.encode({"sub": "42"}, SECRET, "HS256"), "bad_token", 3500),
        (jwt.encode({"exp": time.time() + 60}, None, "none"), "bad_token", 3500),
        (token(-60), "token_expired", 3005),
    ],
    ids=["no token", "other secret", "without exp", "not signed", "expired"],
)
async def test_a_token_that_is_not_taken_closes_the_socket(sent: str, code: str, close: int) -> None:
    async with running(TEN, token_secret=SECRET) as stage, raw(stage.port) as viewer:
        await viewer.command(id=1, op="auth", token=sent)
        await viewer.read_until(lambda: viewer.close)
        assert viewer.frames[-1]["code"] == code
        assert viewer.close_code == close


async def test_a_socket_is_closed_when_its_token_expires() -> None:
    async with running(TEN, token_secret=SECRET, heartbeat_ms=100) as stage, raw(stage.port) as viewer:
        await viewer.command(id=1, op="auth", token=token(1.5))
        await viewer.command(id=2, op="subscribe", board=BOARD, view="top")
        await viewer.read_until(lambda: viewer.close)
        assert viewer.screen.shows("s12/top/100")
        assert viewer.close_code == 3005


async def test_a_fresh_token_keeps_the_socket_open() -> None:
    async with (
        running(TEN, token_secret=SECRET, heartbeat_ms=100) as stage,
        client(stage.port) as viewer,
    ):
        await viewer.command("auth", token=token(2))
        await viewer.top()
        await viewer.command("auth", token=token(60))
        await until(lambda: len(viewer.of("heartbeat")) >= 25)


async def test_where_reads_are_open_auth_is_answered_all_the_same() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        assert (await viewer.command("auth", token="anything"))["type"] == "ok"
