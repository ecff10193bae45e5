"""How a board gets on: its position, results a second, and what Kafka has beyond it."""

from tests.waiting import until
from tests.web.conftest import Api, submit


async def _status(api: Api) -> dict[str, object]:
    answer = await api.http.get(f"/seasons/{api.season}/leaderboard/status")
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    told: dict[str, object] = answer.json()
    return told


async def test_a_status_tells_the_position_that_rest_tells(rankcast: Api) -> None:
    await submit(rankcast, {1: 10, 2: 20})

    told, top = await _status(rankcast), (await rankcast.http.get(rankcast.top)).json()

    assert {key: told[key] for key in ("epoch", "version", "total")} == {
        key: top[key] for key in ("epoch", "version", "total")
    }
    assert told["refreshMs"] == 2000


async def test_results_a_second_and_lag_are_told_once_they_are_known(rankcast: Api) -> None:
    await _status(rankcast)
    await submit(rankcast, dict.fromkeys(range(20), 10))

    async def counted() -> bool:
        told = await _status(rankcast)
        return bool(told["resultsPerSecond"]) and told["lagRecords"] == 0

    await until(counted, within=10)


async def test_a_season_that_is_not_there_has_no_status(reader: Api) -> None:
    answer = await reader.http.get("/seasons/99999/leaderboard/status")

    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_season")


async def test_a_process_that_plays_no_demo_has_no_buttons_for_one(reader: Api) -> None:
    answer = await reader.http.get("/demo")

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert (await reader.http.get("/seasons")).json()["demo"] is None
