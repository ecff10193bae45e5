"""Writes over HTTP: the key, the whole or nothing, the limits."""

from collections.abc import AsyncIterator

import httpx
import orjson
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from server.settings import Settings
from tests.waiting import until
from tests.web.conftest import AUTH, Api, result, running

GOOD = result()


async def _in_kafka(api: Api) -> list[tuple[bytes | None, dict[str, object]]]:
    """Key and value of every record of the season."""
    settings = api.settings
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.kafka_bootstrap, enable_auto_commit=False)
    await consumer.start()
    places = [TopicPartition(settings.topic, number) for number in range(4)]
    consumer.assign(places)
    await consumer.seek_to_beginning(*places)
    found = await consumer.getmany(*places, timeout_ms=1000)
    await consumer.stop()
    records = [(it.key, orjson.loads(it.value)) for batch in found.values() for it in batch]
    return [(key, value) for key, value in records if value["season_id"] == api.season]


async def test_accepted_results_are_in_kafka_with_their_player_as_key(
    rankcast: Api,
) -> None:
    answer = await rankcast.http.post(rankcast.results, json=[GOOD], headers=AUTH)

    assert (answer.status_code, answer.json()) == (202, {"accepted": 1})
    [(key, value)] = await _in_kafka(rankcast)
    assert key == b"42"
    assert value == {**GOOD, "player_id": 42, "season_id": rankcast.season}


async def test_with_one_bad_item_nothing_is_sent(rankcast: Api) -> None:
    answer = await rankcast.http.post(rankcast.results, json=[GOOD, {**GOOD, "points": -1}], headers=AUTH)

    assert (answer.status_code, answer.json()["code"]) == (422, "bad_results")
    [error] = answer.json()["errors"]
    assert (error["index"], error["code"]) == (1, "points_negative")
    assert "-1" in error["reason"]
    assert await _in_kafka(rankcast) == []


@pytest.mark.parametrize(
    "header",
    [None, "Bearer", "Bearer wrong", "Basic test-key", "test-key", "Bearer test-key2", "Bearer é"],
)
@pytest.mark.parametrize(("method", "path"), [("POST", "{results}"), ("PUT", "/players")])
async def test_a_write_without_the_key_is_refused(
    reader: Api, method: str, path: str, header: str | None
) -> None:
    headers = httpx.Headers({} if header is None else {"authorization": header}, encoding="utf-8")

    answer = await reader.http.request(
        method, path.format(results=reader.results), content=b"[]", headers=headers
    )

    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_server_without_a_key_takes_no_writes(settings: Settings) -> None:
    without_key = settings.model_copy(update={"api_key": None})
    async with running(without_key, frozenset({"web"})) as process, process.client() as http:
        answer = await http.post("/seasons/1/results", json=[], headers=AUTH)

    assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")
    assert "RANKCAST_API_KEY" in answer.json()["detail"]


async def test_a_body_above_the_limit_is_refused_by_its_declared_length(reader: Api) -> None:
    answer = await reader.http.post(reader.results, content=b" " * 10_001, headers=AUTH)

    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_big")
    assert "10001" in answer.json()["detail"]
    assert "10000" in answer.json()["detail"]
    assert "RANKCAST_MAX_BODY_BYTES" in answer.json()["detail"]


async def test_a_body_above_the_limit_is_refused_while_it_is_read(reader: Api) -> None:
    async def without_a_length() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" " * 1_000

    answer = await reader.http.post(reader.results, content=without_a_length(), headers=AUTH)

    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_big")
    assert "at least" in answer.json()["detail"]


async def test_names_are_saved_and_shown_on_the_stream(rankcast: Api) -> None:
    await rankcast.http.post(rankcast.results, json=GOOD, headers=AUTH)

    answer = await rankcast.http.put("/players", json={"42": " Ada "}, headers=AUTH)

    assert (answer.status_code, answer.json()) == (200, {"saved": 1})

    async def named() -> bool:
        async with rankcast.http.stream(
            "GET", f"/seasons/{rankcast.season}/leaderboard/stream?limit=1"
        ) as stream:
            async for line in stream.aiter_lines():
                if line.startswith("data:") and '"snapshot"' in line:
                    return '"42":"Ada"' in line
        return False

    await until(named, within=10)


@pytest.mark.parametrize(
    ("names", "index", "code"),
    [
        ({"42": "a\x00b"}, "42", "name_control"),
        ({"42": "   "}, "42", "name_empty"),
        ({"42": "x" * 65}, "42", "name_too_long"),
        ({"42": 7}, "42", "bad_name"),
        ({"042": "Ada"}, "042", "bad_player_id"),
        ({"1": "Ada", "x" * 500: "Bob"}, "x" * 64, "bad_player_id"),
    ],
)
async def test_bad_names_are_refused_all_together(
    reader: Api, names: dict[str, object], index: str, code: str
) -> None:
    """C6"""
    answer = await reader.http.put("/players", json=names, headers=AUTH)

    assert (answer.status_code, answer.json()["code"]) == (422, "bad_names")
    [error] = answer.json()["errors"]
    assert (error["index"], error["code"]) == (index, code)


async def test_a_lone_surrogate_in_a_name_is_refused(reader: Api) -> None:
    """C6"""
    answer = await reader.http.put("/players", content=b'{"42":"\\ud800"}', headers=AUTH)

    assert answer.json()["errors"][0]["code"] == "name_surrogate"


@pytest.mark.parametrize("body", [b"", b"[]", b'"x"', b"{", b'{"42":"Ada","42":"Bob"}'])
async def test_names_that_are_no_object_are_refused(reader: Api, body: bytes) -> None:
    answer = await reader.http.put("/players", content=body, headers=AUTH)

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_json")
