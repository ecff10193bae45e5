"""A process from start to stop: roles, health, readiness, and what takes it down."""

import asyncio
import json

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from server.core.season import Season
from server.embedded.postgres import Postgres
from server.embedded.valkey import Valkey
from server.errors import Close, StartError
from server.settings import Settings
from tests.waiting import until
from tests.web.conftest import AUTH, Api, Running, definition, make_season, result, running, submit

ROLE_SETS = [{"web"}, {"ingest"}, {"persist"}, {"keeper"}, {"ingest", "persist"}, {"web", "keeper"}]


@pytest.mark.parametrize("roles", ROLE_SETS, ids=lambda roles: "+".join(sorted(roles)))
async def test_any_set_of_roles_starts_answers_for_its_health_and_stops(
    settings: Settings, roles: set[str]
) -> None:
    async with running(settings, frozenset(roles)) as process, process.client() as http:
        health = await http.get("/healthz")
        metrics = await http.get("/metrics")
        await until(lambda: _is_ready(http), within=20)
        board = await http.get("/seasons")

    assert (health.status_code, health.json()) == (200, {"alive": True})
    assert "rankcast_results" in {family.name for family in text_string_to_metric_families(metrics.text)}
    assert board.status_code == (200 if "web" in roles else 404)


async def test_readiness_names_every_part(reader: Api) -> None:
    body = (await reader.http.get("/readyz")).json()

    assert set(body["parts"]) == {"boards", "ingest", "kafka", "keeper", "persist", "postgres", "redis"}


async def test_postgresql_away_makes_the_process_not_ready_and_boards_are_still_served(
    settings: Settings, own_postgres: Postgres
) -> None:
    settings = settings.model_copy(update={"database_url": own_postgres.address})
    async with running(settings) as process, process.client() as http:
        api = Api(http, 12, settings)
        await make_season(process, api)
        own_postgres.kill()
        await until(lambda: _is_unready(http, "postgres"), within=10)
        board = await http.get(api.top)
        await own_postgres.start()

    assert board.status_code == 200


async def test_redis_away_makes_the_process_not_ready_and_boards_are_still_served(
    settings: Settings, own_valkey: Valkey
) -> None:
    settings = settings.model_copy(update={"redis_url": own_valkey.address})
    async with running(settings) as process, process.client() as http:
        api = Api(http, 12, settings)
        await make_season(process, api)
        await submit(api, {1: 10})
        own_valkey.kill()
        await until(lambda: _is_unready(http, "redis"), within=10)
        board = await http.get(api.top)
        await own_valkey.start()

    assert board.status_code == 200
    assert board.json()["total"] == 1


async def test_kafka_away_refuses_writes_and_serves_reads(settings: Settings) -> None:
    away = settings.model_copy(update={"kafka_bootstrap": "127.0.0.1:1", "delivery_timeout_s": 0.3})
    async with running(away, frozenset({"web"})) as process, process.client() as http:
        await process.archive.create_season(Season.parse(definition(12), 0))
        answer = await http.post("/seasons/12/results", json=result(), headers=AUTH)
        seasons = await http.get("/seasons")
        ready = await http.get("/readyz")

    assert (answer.status_code, answer.json()["code"]) == (503, "log_unavailable")
    assert (ready.status_code, ready.json()["parts"]["kafka"]["ready"]) == (200, False)
    assert answer.json()["retry"] is True
    assert seasons.status_code == 200


async def test_a_web_process_serves_its_boards_while_postgresql_is_away_and_says_so(
    settings: Settings, own_postgres: Postgres
) -> None:
    settings = settings.model_copy(update={"database_url": own_postgres.address})
    async with running(settings, frozenset({"web"})) as process, process.client() as http:
        await until(lambda: _is_ready(http), within=10)
        own_postgres.kill()

        async def told() -> bool:
            return not (await http.get("/readyz")).json()["parts"]["postgres"]["ready"]

        await until(told, within=10)
        assert (await http.get("/readyz")).status_code == 200
        await own_postgres.start()


async def test_a_role_that_dies_takes_the_process_down(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(_self: object, _stop: asyncio.Event) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr("server.live.names.Names.run", dies)

    with pytest.raises(StartError, match="role names died: RuntimeError: out of luck"):
        async with running(settings, frozenset({"web"})) as process:
            await asyncio.wait_for(asyncio.shield(process.serving), 30)


async def test_a_role_that_ends_by_itself_takes_the_process_down(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ends(_self: object, _stop: asyncio.Event) -> None:
        return

    monkeypatch.setattr("server.live.names.Names.run", ends)

    with pytest.raises(StartError, match="role names ended by itself"):
        async with running(settings, frozenset({"web"})) as process:
            await asyncio.wait_for(asyncio.shield(process.serving), 30)


async def test_a_service_that_never_comes_up_is_one_clear_line(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.web.parts.START_SECONDS", 0.2)

    with pytest.raises(StartError, match="REDIS_URL"):
        async with running(settings.model_copy(update={"redis_url": "redis://127.0.0.1:1"})):
            pass


async def test_a_stop_first_brings_every_accepted_result_onto_the_board_and_into_postgresql(
    settings: Settings,
) -> None:
    async with running(settings) as process, process.client() as http:
        api = Api(http, 12, settings)
        await make_season(process, api)
        posts = [http.post(api.results, json=result(player, player), headers=AUTH) for player in range(1, 51)]
        assert {answer.status_code for answer in await asyncio.gather(*posts)} == {202}

    async with running(settings, frozenset({"web"})) as process, process.client() as http:
        stored = await process.archive.count(12)
        top = (await http.get(api.top)).json()

    assert (stored, top["total"]) == (50, 50)


async def test_a_stop_tells_every_viewer_and_ends_within_its_bound(settings: Settings) -> None:
    """D3"""
    async with running(settings) as process, process.client() as http:
        api = Api(http, 12, settings)
        await make_season(process, api)
        sockets = [await _subscribed(process) for _ in range(20)]
        async with http.stream("GET", "/seasons/12/leaderboard/stream", timeout=30) as stream:
            lines = stream.aiter_lines()
            await anext(lines)
            began = asyncio.get_running_loop().time()
            process.server.stop()
            streamed = [line async for line in lines]
            endings = [await _ending(socket) for socket in sockets]
            await process.serving
            took = asyncio.get_running_loop().time() - began

    assert set(endings) == {("bye", Close.SHUTDOWN)}
    assert "event: bye" in streamed
    assert took < settings.shutdown_grace_s


async def _subscribed(process: Running) -> ClientConnection:
    """A socket that follows season 12 and has its first snapshot."""
    socket = await connect(
        process.server.url.replace("http", "ws") + "/ws", subprotocols=[Subprotocol("rankcast.v1")]
    )
    await socket.send(json.dumps({"id": 1, "op": "subscribe", "board": "s12", "view": "top"}))
    while json.loads(await socket.recv())["type"] != "snapshot":
        pass
    return socket


async def _ending(socket: ClientConnection) -> tuple[str, int | None]:
    """The type of the last frame that a socket gets, and its close code."""
    last = ""
    try:
        while True:
            last = json.loads(await socket.recv())["type"]
    except ConnectionClosed:
        return last, socket.close_code


async def test_a_second_request_to_stop_waits_for_nothing(settings: Settings) -> None:
    async with running(settings, frozenset({"web"})) as process:
        draining = asyncio.Event()

        async def endless() -> None:
            draining.set()
            await asyncio.Event().wait()

        process.life.drain = endless
        process.server.stop()
        await asyncio.wait_for(draining.wait(), 30)
        process.server.stop()

        await asyncio.wait_for(process.serving, 30)


async def test_a_stopping_process_takes_no_results_and_is_not_ready(settings: Settings) -> None:
    async with running(settings, frozenset({"web"})) as process, process.client() as http:
        await process.archive.create_season(Season.parse(definition(12), 0))
        process.life.stopping.set()
        answer = await http.post("/seasons/12/results", json=result(), headers=AUTH)
        ready = await http.get("/readyz")

    assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
    assert (ready.status_code, ready.json()["parts"]["process"]["ready"]) == (503, False)


async def _is_ready(http: httpx.AsyncClient) -> bool:
    return (await http.get("/readyz")).status_code == 200


async def _is_unready(http: httpx.AsyncClient, part: str) -> bool:
    answer = await http.get("/readyz")
    return answer.status_code == 503 and not answer.json()["parts"][part]["ready"]
