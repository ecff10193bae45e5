"""Writes over HTTP: the key, the whole or nothing, the limits."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import orjson
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from server.settings import Settings
from tests.waiting import until
from tests.web.conftest import Running, running

RESULTS = "/seasons/12/results"
GOOD = {
    "match_id": "5f0c6e1d-2a3b-4c5d-8e9f-0a1b2c3d4e5f",
    "player_id": 42,
    "points": 1518,
    "achieved_at": "2024-05-01T00:00:00Z",
}


async def _in_kafka(settings: Settings) -> list[tuple[bytes | None, bytes | None]]:
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.kafka_bootstrap, enable_auto_commit=False)
    await consumer.start()
    places = [TopicPartition(settings.topic, number) for number in range(4)]
    consumer.assign(places)
    await consumer.seek_to_beginning(*places)
    found = await consumer.getmany(*places, timeout_ms=1000)
    await consumer.stop()
    return [(record.key, record.value) for batch in found.values() for record in batch]


async def test_accepted_results_are_in_kafka_with_their_player_as_key(
    rankcast: Running, settings: Settings
) -> None:
    answer = await rankcast.http.post(RESULTS, json=[GOOD], headers=rankcast.auth)

    assert (answer.status_code, answer.json()) == (202, {"accepted": 1})
    [(key, value)] = await _in_kafka(settings)
    assert key == b"42"
    assert orjson.loads(value or b"") == {**GOOD, "season_id": 12}


async def test_with_one_bad_item_nothing_is_sent(rankcast: Running, settings: Settings) -> None:
    answer = await rankcast.http.post(RESULTS, json=[GOOD, {**GOOD, "points": -1}], headers=rankcast.auth)

    assert (answer.status_code, answer.json()["code"]) == (422, "bad_results")
    [error] = answer.json()["errors"]
    assert (error["index"], error["code"]) == (1, "points_negative")
    assert "-1" in error["reason"]
    assert await _in_kafka(settings) == []


@pytest.mark.parametrize(
    "header",
    [None, "Bearer", "Bearer ", "Bearer wrong", "Basic test-key", "test-key", "Bearer test-key2", "Bearer é"],
)
@pytest.mark.parametrize(("method", "path"), [("POST", RESULTS), ("PUT", "/players")])
async def test_a_write_without_the_key_is_refused(
    rankcast: Running, method: str, path: str, header: str | None
) -> None:
    headers = httpx.Headers({} if header is None else {"authorization": header}, encoding="utf-8")

    answer = await rankcast.http.request(method, path, content=b"[]", headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_server_without_a_key_takes_no_writes(settings: Settings) -> None:
    async with running(settings.model_copy(update={"api_key": None}), frozenset({"web"})) as process:
        answer = await process.http.post(RESULTS, json=[], headers={"authorization": "Bearer "})

    assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")
    assert "RANKCAST_API_KEY" in answer.json()["detail"]


async def test_a_body_above_the_limit_is_refused_by_its_declared_length(rankcast: Running) -> None:
    answer = await rankcast.http.post(RESULTS, content=b" " * 10_001, headers=rankcast.auth)

    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_big")
    assert "10001" in answer.json()["detail"]
    assert "10000" in answer.json()["detail"]
    assert "RANKCAST_MAX_BODY_BYTES" in answer.json()["detail"]


async def test_a_body_above_the_limit_is_refused_while_it_is_read(rankcast: Running) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(10_000):
            sent += 1
            yield b" " * 1_000
            await asyncio.sleep(0)

    answer = await rankcast.http.post(RESULTS, content=endless(), headers=rankcast.auth)

    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_big")
    assert sent < 10_000


async def test_names_are_saved_and_shown_on_the_stream(rankcast: Running) -> None:
    await rankcast.http.post(RESULTS, json=GOOD, headers=rankcast.auth)

    answer = await rankcast.http.put("/players", json={"42": " Ada "}, headers=rankcast.auth)

    assert (answer.status_code, answer.json()) == (200, {"saved": 1})

    async def named() -> bool:
        async with rankcast.http.stream("GET", "/seasons/12/leaderboard/stream?limit=1") as stream:
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
    rankcast: Running, names: dict[str, object], index: str, code: str
) -> None:
    """C6"""
    answer = await rankcast.http.put("/players", json=names, headers=rankcast.auth)

    assert (answer.status_code, answer.json()["code"]) == (422, "bad_names")
    [error] = answer.json()["errors"]
    assert (error["index"], error["code"]) == (index, code)


async def test_a_lone_surrogate_in_a_name_is_refused(rankcast: Running) -> None:
    """C6"""
    answer = await rankcast.http.put("/players", content=b'{"42":"\\ud800"}', headers=rankcast.auth)

    assert answer.json()["errors"][0]["code"] == "name_surrogate"


@pytest.mark.parametrize("body", [b"", b"[]", b'"x"', b"{", b'{"42":"Ada","42":"Bob"}'])
async def test_names_that_are_no_object_are_refused(rankcast: Running, body: bytes) -> None:
    answer = await rankcast.http.put("/players", content=body, headers=rankcast.auth)

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_json")
