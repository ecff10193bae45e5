"""Server-sent events: the frames of the socket in an HTTP answer."""

import time
from typing import Any

import jwt
import pytest

from server.live.sse import Stream
from tests.edge.clients import client
from tests.edge.followers import ask, following
from tests.edge.screen import Shown
from tests.edge.stage import BOARD, Stage, running
from tests.waiting import until

TEN = {player: 100 * player for player in range(1, 11)}
MANY = {player: 1000 + player for player in range(1, 301)}
SECRET = "0123456789abcdef0123456789abcdef"
SLOW: dict[str, Any] = {"outbox_bytes": 4096, "resume_positions": 8}


def token(lives_s: float) -> str:
    return f"Authorization: Bearer {jwt.encode({'exp': time.time() + lives_s}, SECRET, 'HS256')}\r\n"


async def test_a_stream_begins_with_the_snapshot_and_goes_on_with_diffs() -> None:
    async with running(TEN) as stage, following(stage, "limit=5") as viewer:
        await viewer.read_until(lambda: viewer.events)
        version = stage.board.set({1: 5000})
        shown = viewer.screen["s12/top/5"]
        await viewer.read_until(lambda: shown.version == version)
        assert viewer.kinds == ["snapshot", "diff"]
        assert viewer.events[1].id == f"{shown.epoch}-2"
        assert shown.rows == stage.board.rows(5)


async def test_the_frames_are_those_of_the_socket() -> None:
    async with running(TEN) as stage, following(stage, "limit=5") as viewer, client(stage.port) as other:
        shown = await other.top(5)
        await viewer.read_until(lambda: viewer.events)
        version = stage.board.set({1: 5000})
        await until(lambda: shown.version == version)
        await viewer.read_until(lambda: len(viewer.events) == 2)
        assert [event.frame for event in viewer.events] == other.frames[2:]


async def test_the_head_says_what_it_is_and_that_nobody_may_keep_it() -> None:
    async with running(TEN) as stage, following(stage) as viewer:
        assert viewer.status == 200
        assert "content-type: text/event-stream" in viewer.head
        assert "cache-control: no-store" in viewer.head
        assert "content-length" not in viewer.head


async def test_asking_for_the_head_alone_makes_no_viewer() -> None:
    async with running(TEN) as stage, following(stage, method="HEAD") as viewer:
        assert viewer.status == 200
        assert not stage.hub.viewers


async def test_a_stream_around_a_player_has_the_players_rises() -> None:
    async with running(TEN) as stage, following(stage, "view=around&player=5&radius=1") as viewer:
        await viewer.read_until(lambda: viewer.events)
        stage.board.set({5: 5000})
        await viewer.read_until(lambda: len(viewer.events) == 3)
        assert viewer.kinds == ["around", "around", "rankup"]


async def test_rank_ups_and_heartbeats_move_no_cursor() -> None:
    """G3"""
    async with running(MANY, heartbeat_ms=100) as stage, following(stage, "view=rankups") as viewer:
        await until(lambda: stage.count("subscriptions", view="rankups") == 1)
        stage.board.set({1: 5000})
        await viewer.read_until(lambda: {"rankup", "heartbeat"} <= set(viewer.kinds))
        assert {event.id for event in viewer.events} == {None}


@pytest.mark.parametrize("by_header", [True, False], ids=["Last-Event-ID", "have"])
async def test_a_stream_goes_on_from_where_the_client_is(by_header: bool) -> None:
    async with running(TEN) as stage, following(stage, "limit=5") as stays:
        await stays.read_until(lambda: stays.events)
        had, shown = str(stays.events[0].id), stays.screen["s12/top/5"]
        known = Shown(shown.epoch, 1, rows=list(shown.rows), expects_whole=False)
        version = stage.board.set({1: 5000})
        await stays.read_until(lambda: shown.version == version)
        query = "limit=5" if by_header else f"limit=5&have={had}"
        back = await ask(stage.port, query, f"Last-Event-ID: {had}\r\n" if by_header else "")
        back.screen.topics["s12/top/5"] = known
        await back.read_until(lambda: back.events)
        back.socket.close()
        assert back.kinds == ["diff"]
        assert known.rows == stage.board.rows(5)


async def test_a_last_event_id_of_something_else_is_no_error() -> None:
    async with running(TEN) as stage, following(stage, headers="Last-Event-ID: 42\r\n") as viewer:
        await viewer.read_until(lambda: viewer.events)
        assert viewer.kinds == ["snapshot"]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("view=bottom", 400),
        ("limit=1001", 400),
        ("limit=ten", 400),
        ("limit=007", 400),
        ("view=around", 400),
        ("view=around&player=007", 400),
        ("view=around&player=7&radius=51", 400),
        ("have=yesterday", 400),
    ],
)
async def test_what_is_not_understood_is_refused_before_the_first_byte(query: str, status: int) -> None:
    async with running(TEN) as stage, following(stage, query) as viewer:
        assert viewer.status == status
        assert not stage.hub.viewers


async def test_streams_count_as_viewers() -> None:
    async with running(TEN, max_connections=1) as stage, client(stage.port) as only:
        await only.top()
        async with following(stage) as viewer:
            assert viewer.status == 503


async def test_a_page_of_another_origin_is_refused() -> None:
    """D7"""
    headers = "Origin: https://evil.example\r\n"
    async with (
        running(TEN, origins="https://game.example") as stage,
        following(stage, headers=headers) as viewer,
    ):
        assert viewer.status == 403


async def test_where_tokens_are_needed_a_stream_needs_one() -> None:
    async with running(TEN, token_secret=SECRET) as stage:
        async with following(stage) as viewer:
            assert viewer.status == 401
        async with following(stage, headers=token(-5)) as viewer:
            assert viewer.status == 401
        async with following(stage, headers=token(60)) as viewer:
            assert viewer.status == 200


async def test_a_stream_ends_with_a_bye_when_its_token_expires() -> None:
    async with (
        running(TEN, token_secret=SECRET, heartbeat_ms=100) as stage,
        following(stage, headers=token(1.5)) as viewer,
    ):
        await viewer.read_to_end()
        assert (viewer.events[-1].kind, viewer.events[-1].frame["code"]) == ("bye", 3005)


async def test_a_server_that_stops_ends_its_streams_and_says_when_to_come_back() -> None:
    """D3"""
    async with running(TEN) as stage, following(stage) as viewer:
        await viewer.read_until(lambda: viewer.events)
        await stage.hub.shutdown()
        await viewer.read_to_end()
        assert (viewer.events[-1].kind, viewer.events[-1].frame["code"]) == ("bye", 3001)
        [wait_ms] = viewer.retries
        assert 1000 <= wait_ms <= 6000
        assert not stage.hub.viewers


async def test_a_client_that_leaves_is_gone() -> None:
    async with running(TEN) as stage:
        async with following(stage) as viewer:
            await viewer.read_until(lambda: viewer.events)
        assert not stage.hub.viewers
        assert stage.count("viewers", kind="stream") == 0


async def _stalled(stage: Stage) -> Stream:
    """Change the board until the stream is owed something; the stream's own viewer."""
    await until(lambda: stage.hub.viewers)
    [stream] = [one for one in stage.hub.viewers if isinstance(one, Stream)]
    for step in range(3000):
        await _change_all(stage, step)
        [view] = stream.views
        if view.outbox.got(stream) != view.number:
            return stream
    raise AssertionError("3000 whole boards fit into a stream that nobody reads")


async def _change_all(stage: Stage, step: int) -> int:
    version = stage.board.set({player: 2000 + (player * 7919 + step * 104_729) % 90_000 for player in MANY})
    view = stage.hub.boards[BOARD].views["s12/top/300"]
    await until(lambda: view.position() == (stage.board.mirror.epoch, version), every=0.001)
    return version


async def test_a_slow_stream_skips_to_the_newest_and_keeps_little() -> None:
    """D1"""
    async with (
        running(MANY, **SLOW) as stage,
        following(stage, "limit=300", receive_buffer=4096) as viewer,
    ):
        stream = await _stalled(stage)
        for step in range(50):
            version = await _change_all(stage, 5000 + step)
        assert stream._size < stage.settings.outbox_bytes + 40_000
        await viewer.read_until(
            lambda: viewer.screen.shows("s12/top/300") and viewer.screen["s12/top/300"].version == version
        )
        assert viewer.screen["s12/top/300"].rows == stage.board.rows(300)


async def test_a_stream_whose_reader_takes_nothing_is_cut() -> None:
    """D1, D2: not merely closed, which would wait for the reader for ever."""
    async with (
        running(MANY, **SLOW, write_deadline_s=0.3) as stage,
        following(stage, "limit=300", receive_buffer=4096),
    ):
        points = iter(range(2000, 1_000_000))

        async def change_and_look() -> bool:
            stage.board.set({player: next(points) for player in MANY})
            return not stage.hub.viewers

        await until(lambda: stage.hub.viewers)
        await until(change_and_look, within=30)
        await until(lambda: not stage.server.server_state.connections)
        assert stage.count("viewers_closed_total", code="3008") == 1
