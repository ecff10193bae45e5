"""Requests as metrics: by route and status, streams and bytes that are no HTTP too."""

import asyncio
from urllib.parse import urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families

from server.settings import Settings
from tests.web.conftest import Running, running


async def _counted(process: Running) -> dict[tuple[str, str], float]:
    async with process.client() as http:
        text = (await http.get("/metrics")).text
    return {
        (sample.labels["route"], sample.labels["status"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "rankcast_http_requests_total"
    }


async def test_requests_are_counted_by_route_and_status(settings: Settings) -> None:
    async with running(settings, frozenset({"web"})) as process, process.client() as http:
        await http.get("/seasons/1/leaderboard/top?limit=7")
        await http.get("/seasons/2/leaderboard/top")
        await http.delete("/seasons")
        await http.get("/no/such/address")
        await http.get("/static/no-such-file.js")
        counted = await _counted(process)
        timed = (await http.get("/metrics")).text

    assert counted == {
        ("/seasons/{id}/leaderboard/top", "404"): 2,
        ("/seasons", "405"): 1,
        ("none", "404"): 1,
        ("/static/{name:path}", "404"): 1,
    }
    assert 'rankcast_http_seconds_count{route="/seasons/{id}/leaderboard/top"} 2.0' in timed


async def test_bytes_that_are_no_http_are_counted_and_fill_no_log(settings: Settings) -> None:
    async with running(settings, frozenset({"web"})) as process:
        address = urlsplit(process.server.url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(b"not HTTP\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 400")
        writer.close()
        await writer.wait_closed()

        assert (await _counted(process))["none", "400"] == 1


async def test_an_answer_that_nobody_expected_counts_as_500(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_self: object, _beginning: str, _limit: int) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("server.web.search.NameSearch.find", broken)
    async with running(settings, frozenset({"web"})) as process, process.client() as http:
        answer = await http.get("/players?query=ada")
        assert (answer.status_code, answer.json()["code"]) == (500, "internal")
        assert (await _counted(process))["/players", "500"] == 1
