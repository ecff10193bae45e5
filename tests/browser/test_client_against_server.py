"""The client in Node against the whole of Rankcast: by WebSocket and by server-sent events, over a bad wire.

What it shows is held to what REST answers at the same position.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from server.embedded.postgres import Postgres
from server.embedded.tansu import Tansu
from server.embedded.valkey import Valkey
from tests import services
from tests.browser.following import following
from tests.browser.game import PLAYER, Game, game_at, make_season
from tests.browser.wire import Wire, wire
from tests.waiting import until
from tests.whole.running import Running, running

QUICK = {"RANKCAST_HEARTBEAT_MS": "1000"}

pytestmark = [pytest.mark.timeout(240), pytest.mark.usefixtures("tools")]


@pytest.fixture(scope="module")
def rankcast(services_folder: Path, valkey: Valkey, postgres: Postgres, kafka: Tansu) -> Iterator[Running]:
    """One Rankcast for these tests, with one season whose results add up; heartbeats come every second."""
    place = services_folder / "client"
    place.mkdir()
    with asyncio.Runner() as runner:
        database_url = runner.run(services.new_database(postgres.address))
        topic = runner.run(services.new_topic(kafka.address))
        serving = running(place, valkey.address, database_url, kafka.address, topic, **QUICK)
        found = runner.run(serving.__aenter__())
        runner.run(make_season(found, place))
        yield found
        runner.run(serving.__aexit__(None, None, None))


@pytest.fixture
async def line(rankcast: Running) -> AsyncIterator[Wire]:
    async with wire(int(rankcast.url.rsplit(":", 1)[1])) as made:
        yield made


@pytest.fixture
async def game(rankcast: Running) -> AsyncIterator[Game]:
    async with game_at(rankcast.url) as made:
        yield made


async def test_the_client_shows_what_rest_tells_by_either_way(node: str, line: Wire, game: Game) -> None:
    async with (
        following(node, line.url, "s12", PLAYER) as socket,
        following(node, line.url, "s12", PLAYER, TRANSPORT="none") as stream,
    ):
        await until(lambda: socket.state == stream.state == "live", within=20)
        assert (socket.transport, stream.transport) == ("websocket", "sse")
        for _ in range(10):
            await game.play(200)
        await until(lambda: game.shown_by(socket, stream), within=30)
        await until(lambda: socket.own == stream.own == PLAYER)  # around-me has a longer tick
        await until(lambda: socket.newest["around"]["rows"] == stream.newest["around"]["rows"])
        await until(lambda: socket.newest["top"]["total"] == stream.newest["around"]["total"] > 290)
        assert "catching up" not in [state["reason"] for state in socket.states + stream.states]
        assert not socket.refusals
        assert not stream.refusals


async def test_cut_wires_cost_the_client_nothing(node: str, line: Wire, game: Game) -> None:
    async with (
        following(node, line.url, "s12", PLAYER) as socket,
        following(node, line.url, "s12", PLAYER, TRANSPORT="none") as stream,
    ):
        await until(lambda: socket.state == stream.state == "live", within=20)
        for _ in range(3):
            await game.play(100)
            line.cut()
            await until(lambda: "stale" in (socket.state, stream.state), within=10)
            await game.play(100)
            await until(lambda: socket.state == stream.state == "live", within=60)
        await until(lambda: game.shown_by(socket, stream), within=30)
        told = [(one["epoch"], one["version"], one["player"]) for one in socket.rankups]
        assert len(told) == len(set(told)), "a rank-up was told twice"


async def test_a_wire_that_goes_silent_is_noticed_and_replaced(node: str, line: Wire, game: Game) -> None:
    async with following(node, line.url, "s12", PLAYER) as follower:
        await game.play(100)
        await until(lambda: game.shown_by(follower), within=20)
        line.frozen = True
        await game.play(100)
        await until(lambda: follower.state == "stale", within=15)
        assert follower.newest["state"]["reason"] == "silent"
        line.frozen = False
        await until(lambda: game.shown_by(follower), within=60)


async def test_where_websockets_are_barred_events_are_used(node: str, line: Wire, game: Game) -> None:
    line.bars_sockets = True
    async with following(node, line.url, "s12", PLAYER) as follower:
        await until(lambda: follower.state == "live", within=30)
        assert (follower.transport, line.sockets) == ("sse", 2)
        await game.play(200)
        await until(lambda: game.shown_by(follower), within=20)


async def test_a_board_that_is_not_there_is_refused_and_the_client_stays_calm(node: str, line: Wire) -> None:
    async with (
        following(node, line.url, "s99", "1") as socket,
        following(node, line.url, "s99", "1", TRANSPORT="none") as stream,
    ):
        await until(lambda: len(socket.refusals) == len(stream.refusals) == 3, within=20)
        assert not any(one["retry"] for one in socket.refusals + stream.refusals)
        assert {one["code"] for one in socket.refusals} == {"unknown_board"}
        assert {one["code"] for one in stream.refusals} <= {"unknown_board", "unknown_season"}
