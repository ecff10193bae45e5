"""The demo on the whole of Rankcast: its clock, its buttons, and a board that is exactly what was played."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.demo.history import load_results
from tests.waiting import until
from tests.whole.running import API_KEY, Running, running
from tests.whole.viewer import viewing

DEMO = {"RANKCAST_DEMO": "true", "RANKCAST_DEMO_SPEED": "25", "RANKCAST_KEEPER_EVERY_S": "0.1"}

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
async def demo(
    place: Path, redis_url: str, database_url: str, kafka_bootstrap: str, topic: str
) -> AsyncIterator[Running]:
    """A Rankcast that plays the demo."""
    async with running(place, redis_url, database_url, kafka_bootstrap, topic, **DEMO) as found:
        yield found


@pytest.fixture
async def http(demo: Running) -> AsyncIterator[httpx.AsyncClient]:
    """A page of this server in a browser of this machine."""
    async with httpx.AsyncClient(base_url=demo.url, headers={"origin": demo.url}) as client:
        yield client


async def _state(http: httpx.AsyncClient) -> dict[str, Any]:
    state: dict[str, Any] = (await http.get("/demo")).raise_for_status().json()
    return state


async def _order(http: httpx.AsyncClient, **order: object) -> dict[str, Any]:
    state: dict[str, Any] = (await http.post("/demo", json=order)).raise_for_status().json()
    return state


async def _played(http: httpx.AsyncClient, results: int) -> bool:
    return bool((await _state(http))["results"] >= results)


async def _board_is_what_was_played(http: httpx.AsyncClient) -> bool:
    """Whether the board has exactly the goals of the results that the demo says it has played."""
    results = (await _state(http))["results"]
    goals: dict[int, int] = {}
    for result in load_results()[:results]:
        goals[result.player_id] = goals.get(result.player_id, 0) + result.points
    answer = await http.get("/seasons/1/leaderboard/top", params={"limit": 1000})
    entries = answer.json()["entries"] if answer.status_code == 200 else []
    return {entry["playerId"]: entry["points"] for entry in entries} == goals


async def test_a_paused_demo_stands_still_and_its_board_is_exactly_what_was_played(
    http: httpx.AsyncClient,
) -> None:
    await until(lambda: _played(http, 2_000), within=60)

    state = await _order(http, paused=True)

    assert state["phase"] == "paused"
    await until(lambda: _board_is_what_was_played(http), within=30)
    assert (await _state(http))["results"] - state["results"] <= 500  # what was being sent at that moment
    assert (state["firstDay"], state["lastDay"], state["of"]) == ("1872-11-30", "2026-07-19", 99_040)
    assert state["firstDay"] < state["day"] < state["lastDay"]
    match = state["match"]
    assert match["home"]["name"] != match["away"]["name"]

    again = await _order(http, paused=False, speed=50)

    assert (again["phase"], again["speed"]) == ("playing", 50)
    await until(lambda: _played(http, state["results"] + 1_000), within=60)


async def test_a_restart_empties_the_board_under_the_eyes_of_its_viewers(
    demo: Running, http: httpx.AsyncClient
) -> None:
    await until(lambda: _played(http, 3_000), within=60)
    await _order(http, speed=2)
    async with viewing(demo.socket_url, "s1", 1000) as viewer:
        await until(lambda: len(viewer.rows) > 50, within=30)
        epoch = viewer.epoch

        state = await _order(http, restart=True)

        assert state["phase"] == "restarting"
        await until(lambda: viewer.epoch != epoch, within=30)
        await until(lambda: 0 < len(viewer.rows) < 10, within=30)
        await _order(http, paused=True)
        await until(lambda: _board_is_what_was_played(http), within=30)
        shown = {row.player: row.points for row in viewer.rows}
        assert sum(shown.values()) == sum(
            it.points for it in load_results()[: (await _state(http))["results"]]
        )


async def test_a_finished_demo_rests_until_it_is_asked_to_begin_anew(http: httpx.AsyncClient) -> None:
    await until(lambda: _played(http, 1), within=60)
    await _order(http, speed=1000)
    await until(lambda: _played(http, 99_040), within=120)
    await until(lambda: _board_is_what_was_played(http), within=60)
    assert (await _state(http))["phase"] == "finished"

    await _order(http, restart=True, speed=1)

    await until(lambda: _is(http, "playing"), within=60)
    assert (await _state(http))["results"] < 1_000


async def _is(http: httpx.AsyncClient, phase: str) -> bool:
    return bool((await _state(http))["phase"] == phase)


async def test_the_demo_is_told_of_among_the_seasons_with_its_flags(http: httpx.AsyncClient) -> None:
    await until(lambda: _played(http, 1), within=60)

    seasons = (await http.get("/seasons")).json()
    flags = (await http.get("/demo/flags")).json()

    assert (seasons["demo"], [season["board"] for season in seasons["seasons"]]) == ("s1", ["s1"])
    assert flags["34"] == "\U0001f1e7\U0001f1f7"
    assert "orderDemo" in (await http.get("/openapi.json")).text


async def test_the_buttons_are_for_this_machines_own_page_and_for_the_key(demo: Running) -> None:
    """D7"""
    cases: list[tuple[dict[str, str], int]] = [
        ({}, 401),
        ({"origin": "https://evil.example"}, 401),
        ({"origin": "null"}, 401),
        ({"origin": demo.url, "host": "evil.example"}, 401),
        ({"origin": "http://evil.example", "host": "evil.example"}, 401),
        ({"origin": demo.url, "x-forwarded-for": "203.0.113.7"}, 401),
        ({"origin": "https://evil.example", "authorization": f"Bearer {API_KEY}"}, 200),
        ({"authorization": f"Bearer {API_KEY}"}, 200),
        ({"origin": demo.url}, 200),
    ]
    async with httpx.AsyncClient(base_url=demo.url) as http:
        answers = [await http.post("/demo", json={"speed": 2}, headers=headers) for headers, _ in cases]
        seen = [(await http.get("/demo", headers=headers)).json()["controls"] for headers, _ in cases]

    assert [answer.status_code for answer in answers] == [status for _, status in cases]
    assert seen == [True, True, True, False, False, False, True, True, True]


async def test_an_order_that_is_none_is_refused(http: httpx.AsyncClient) -> None:
    orders = ["", "[]", '{"speed":0}', '{"speed":"fast"}', '{"speed":1e9}', '{"sped":2}', '{"paused":1}']

    answers = [await http.post("/demo", content=order) for order in orders]

    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(400, "bad_request")}
