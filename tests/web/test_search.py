"""Searching players: by name and by id, with ranks of a season, within limits."""

import asyncio

import pytest

from server.archive.store import Archive
from server.errors import RankcastError
from server.metrics import Metrics
from server.settings import Settings
from server.web.search import NameSearch
from tests.web.conftest import AUTH, Api, submit


async def _found(api: Api, **query: object) -> list[dict[str, object]]:
    answer = await api.http.get("/players", params={key: str(value) for key, value in query.items()})
    assert answer.status_code == 200, answer.text
    players: list[dict[str, object]] = answer.json()["players"]
    return players


async def test_players_are_found_by_the_beginning_of_their_names_with_their_ranks(rankcast: Api) -> None:
    names = {"420": "Zoë Search", "421": "Zoe Searle", "422": "zoe seal", "423": "Zora"}
    await rankcast.http.put("/players", json=names, headers=AUTH)
    await submit(rankcast, {421: 10, 420: 30})

    assert await _found(rankcast, query="ZOE SEA", season=rankcast.season) == [
        {"playerId": 422, "name": "zoe seal", "rank": None, "points": None},
        {"playerId": 420, "name": "Zoë Search", "rank": 1, "points": 30},
        {"playerId": 421, "name": "Zoe Searle", "rank": 2, "points": 10},
    ]


async def test_a_player_is_found_by_a_whole_id_whether_there_is_a_name_or_not(rankcast: Api) -> None:
    await rankcast.http.put("/players", json={"77": "77 Seven"}, headers=AUTH)

    assert await _found(rankcast, query="77") == [
        {"playerId": 77, "name": "77 Seven", "rank": None, "points": None}
    ]
    assert await _found(rankcast, query="9223372036854775807") == [
        {"playerId": "9223372036854775807", "name": None, "rank": None, "points": None}
    ]


async def test_no_more_players_are_told_than_were_asked_for(rankcast: Api) -> None:
    await rankcast.http.put("/players", json={str(900 + it): f"Limit {it}" for it in range(5)}, headers=AUTH)

    assert len(await _found(rankcast, query="limit", limit=2)) == 2
    assert len(await _found(rankcast, query="limit")) == 5


@pytest.mark.parametrize("query", ["%", "_", "\\", "' OR 1=1 --", "<img src=x>"])
async def test_signs_that_mean_something_elsewhere_are_letters_like_others(reader: Api, query: str) -> None:
    assert await _found(reader, query=query) == []


@pytest.mark.parametrize(
    ("query", "status", "code", "told"),
    [
        ({}, 400, "bad_request", "query"),
        ({"query": "   "}, 400, "bad_request", "no visible character"),
        ({"query": "a\x00"}, 400, "bad_request", "control character"),
        ({"query": "x" * 65}, 400, "bad_request", "64"),
        ({"query": "a", "limit": "0"}, 400, "bad_request", "starts at 1"),
        ({"query": "a", "limit": "21"}, 400, "limit_too_big", "RANKCAST_MAX_FOUND"),
        ({"query": "a", "season": "99999"}, 404, "unknown_season", "99999"),
        ({"query": "a", "season": "x"}, 404, "unknown_season", "x"),
    ],
)
async def test_what_cannot_be_searched_is_refused_with_the_reason(
    reader: Api, query: dict[str, str], status: int, code: str, told: str
) -> None:
    answer = await reader.http.get("/players", params=query)

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert told in answer.json()["detail"]


async def test_a_search_that_found_the_same_is_answered_304(reader: Api) -> None:
    first = await reader.http.get("/players", params={"query": "nobody has this"})
    again = await reader.http.get(
        "/players", params={"query": "nobody has this"}, headers={"if-none-match": first.headers["etag"]}
    )

    assert (first.status_code, again.status_code) == (200, 304)


class _Slow(Archive):
    """A store that answers when it is told to."""

    def __init__(self) -> None:
        self.running = 0
        self.answer = asyncio.Event()

    async def find_names(self, beginning: str, limit: int) -> dict[int, str]:
        self.running += 1
        await self.answer.wait()
        self.running -= 1
        return {}


async def test_a_flood_of_searches_takes_two_connections_and_the_rest_is_refused() -> None:
    store = _Slow()
    search = NameSearch(store, Settings(searches_at_once=2, max_searches=5), Metrics())
    under_way = [asyncio.create_task(search.find("a", 1)) for _ in range(5)]
    await asyncio.sleep(0)

    with pytest.raises(RankcastError, match="RANKCAST_MAX_SEARCHES") as refused:
        await search.find("a", 1)

    assert refused.value.code == "too_many_requests"
    assert store.running == 2
    store.answer.set()
    assert await asyncio.gather(*under_way) == [{}] * 5
    assert await search.find("a", 1) == {}
