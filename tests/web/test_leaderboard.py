"""Reads of a board over HTTP, on the whole flow: posted results come back in order."""

import time
from collections.abc import AsyncIterator

import jwt
import orjson
import pytest

from server.core.season import Season
from server.settings import Settings
from tests.web.conftest import Api, definition, running, submit

BIG = 2**63 - 1
FIVE = {1: 500, 2: 400, 3: 300, 4: 200, 5: 100}


async def test_an_empty_board_has_a_top_without_entries(reader: Api) -> None:
    """F10"""
    answer = await reader.http.get(reader.top)

    assert answer.status_code == 200
    assert answer.json()["entries"] == []
    assert answer.json()["total"] == 0
    assert (await reader.http.get(f"{reader.players}/1/around")).json() == []


async def test_the_top_has_rank_player_points_and_time_in_order(rankcast: Api) -> None:
    await submit(rankcast, {7: 100, 8: 300, 9: 200})

    body = (await rankcast.http.get(f"{rankcast.top}?limit=2")).json()

    assert body["entries"] == [
        {"rank": 1, "playerId": 8, "points": 300, "achievedAt": 1714521601000},
        {"rank": 2, "playerId": 9, "points": 200, "achievedAt": 1714521602000},
    ]
    assert (body["total"], len(body["epoch"])) == (3, 16)


async def test_an_id_is_a_number_while_it_is_exact_in_every_reader_else_a_string(rankcast: Api) -> None:
    """E1"""
    exact = 2**53 - 1
    await submit(rankcast, {exact: 6, exact + 1: 5, BIG: 4, -exact: 3, -exact - 1: 2})

    entries = (await rankcast.http.get(rankcast.top)).json()["entries"]

    assert [entry["playerId"] for entry in entries] == [
        exact,
        str(exact + 1),
        str(BIG),
        -exact,
        str(-exact - 1),
    ]


async def test_one_player_has_rank_total_and_percentile(rankcast: Api) -> None:
    await submit(rankcast, FIVE)

    assert (await rankcast.http.get(f"{rankcast.players}/2")).json() == {
        "rank": 2,
        "playerId": 2,
        "points": 400,
        "achievedAt": 1714521601000,
        "total": 5,
        "percentile": 80.0,
    }


async def test_around_is_a_bare_list_that_ends_where_the_board_ends(rankcast: Api) -> None:
    await submit(rankcast, FIVE)

    middle = (await rankcast.http.get(f"{rankcast.players}/3/around?radius=1")).json()
    first = (await rankcast.http.get(f"{rankcast.players}/1/around?radius=1")).json()
    alone = (await rankcast.http.get(f"{rankcast.players}/5/around?radius=0")).json()

    assert middle == [
        {"rank": 2, "playerId": 2, "points": 400},
        {"rank": 3, "playerId": 3, "points": 300},
        {"rank": 4, "playerId": 4, "points": 200},
    ]
    assert [row["playerId"] for row in first] == [1, 2]
    assert alone == [{"rank": 5, "playerId": 5, "points": 100}]


async def test_an_unranked_player_is_a_404_with_that_reason(reader: Api) -> None:
    answer = await reader.http.get(f"{reader.players}/404")

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"].endswith("unranked")
    assert "404" in answer.json()["detail"]


@pytest.mark.parametrize("suffix", ["", "/around"])
@pytest.mark.parametrize(
    "player", ["007", "+7", "-0", "%207", "7.0", "%00", "9" * 1000, "x", str(2**63), "\uff11"]
)
async def test_a_player_id_that_is_not_canonical_is_refused(reader: Api, player: str, suffix: str) -> None:
    """F10"""
    answer = await reader.http.get(f"{reader.players}/{player}{suffix}")

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_player")
    assert len(answer.json()["detail"]) < 300


async def test_a_player_id_with_a_slash_is_no_address(reader: Api) -> None:
    """F10"""
    answer = await reader.http.get(f"{reader.players}/a%2Fb%2Fc")

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("season", ["13", "0", "012", "-1", "x", "%00", str(2**31), "9" * 1000])
async def test_a_season_that_is_not_there_is_a_404(reader: Api, season: str) -> None:
    answer = await reader.http.get(f"/seasons/{season}/leaderboard/top")

    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_season")


@pytest.mark.parametrize("window", ["d:today", "w:2026-W42", "", "x"])
async def test_a_window_is_no_board_yet(reader: Api, window: str) -> None:
    answer = await reader.http.get(reader.top, params={"window": window})

    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_board")


@pytest.mark.parametrize(
    ("address", "code", "named"),
    [
        ("{top}?limit=101", "limit_too_big", ["101", "100", "RANKCAST_MAX_LIMIT"]),
        ("{top}?limit=0", "bad_request", ["limit", "0"]),
        ("{top}?limit=ten", "bad_request", ["limit", "'ten'"]),
        ("{top}?limit=-1", "bad_request", ["limit", "'-1'"]),
        ("{top}?limit=", "bad_request", ["limit", "''"]),
        ("{players}/1/around?radius=6", "radius_too_big", ["6", "5", "RANKCAST_MAX_RADIUS"]),
        ("{players}/1/around?radius=1.5", "bad_request", ["radius", "'1.5'"]),
    ],
)
async def test_a_limit_that_refuses_names_value_limit_and_setting(
    reader: Api, address: str, code: str, named: list[str]
) -> None:
    answer = await reader.http.get(address.format(top=reader.top, players=reader.players))

    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert [word for word in named if word not in answer.json()["detail"]] == []


@pytest.mark.parametrize("address", ["{top}", "{players}/1", "{players}/1/around"])
async def test_a_read_carries_its_position_as_etag_and_answers_304_to_it(rankcast: Api, address: str) -> None:
    await submit(rankcast, FIVE)
    path = address.format(top=rankcast.top, players=rankcast.players)
    first = await rankcast.http.get(path)
    position = (await rankcast.http.get(rankcast.top)).json()

    again = await rankcast.http.get(path, headers={"if-none-match": first.headers["etag"]})

    assert first.headers["etag"] == f'"{position["epoch"]}-{position["version"]}"'
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["cache-control"] == first.headers["cache-control"] == "no-cache"


async def test_a_change_makes_another_etag(rankcast: Api) -> None:
    await submit(rankcast, {1: 10})
    old = (await rankcast.http.get(rankcast.top)).headers["etag"]
    await submit(rankcast, {1: 10, 2: 20})

    answer = await rankcast.http.get(rankcast.top, headers={"if-none-match": old})

    assert answer.status_code == 200
    assert answer.headers["etag"] != old


async def test_head_tells_what_get_would(reader: Api) -> None:
    got, head = await reader.http.get(reader.top), await reader.http.head(reader.top)

    assert head.status_code == 200
    assert head.content == b""
    assert [head.headers[name] for name in ("etag", "content-type", "content-length")] == [
        got.headers[name] for name in ("etag", "content-type", "content-length")
    ]


async def test_seasons_are_listed_and_shown_as_they_were_defined(reader: Api) -> None:
    listed = (await reader.http.get("/seasons")).json()["seasons"]
    shown = (await reader.http.get(f"/seasons/{reader.season}")).json()

    assert shown in listed
    assert [season["season_id"] for season in listed] == sorted(season["season_id"] for season in listed)
    assert (shown["name"], shown["board"]) == ("Autumn", f"s{reader.season}")


async def test_the_stream_can_be_asked_about_without_following_it(reader: Api) -> None:
    answer = await reader.http.head(f"/seasons/{reader.season}/leaderboard/stream")

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")


async def test_the_stream_sends_the_frames_of_the_socket_with_their_position_as_id(rankcast: Api) -> None:
    await submit(rankcast, {1: 10})
    top = (await rankcast.http.get(rankcast.top)).json()

    async with rankcast.http.stream(
        "GET", f"/seasons/{rankcast.season}/leaderboard/stream?limit=5"
    ) as stream:
        event = dict(line.split(": ", 1) for line in await _first(stream.aiter_lines(), "snapshot"))

    assert event["id"] == f"{top['epoch']}-{top['version']}"
    frame = orjson.loads(event["data"])
    assert (frame["type"], frame["rows"]) == ("snapshot", [["1", 10, 1714521600000]])


async def _first(lines: AsyncIterator[str], kind: str) -> list[str]:
    """The lines of the first event of this type."""
    event: list[str] = []
    async for line in lines:
        if line:
            event.append(line)
        elif f"event: {kind}" in event:
            return event
        else:
            event = []
    raise AssertionError(f"the stream ended without {kind}")


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("view=sideways", 400, "unknown_view"),
        ("limit=101", 400, "limit_too_big"),
        ("view=around&player=007", 400, "bad_player"),
        ("view=around&player=1&radius=6", 400, "radius_too_big"),
        ("window=d:today", 404, "unknown_board"),
    ],
)
async def test_the_stream_refuses_before_its_first_byte(
    reader: Api, query: str, status: int, code: str
) -> None:
    answer = await reader.http.get(f"/seasons/{reader.season}/leaderboard/stream?{query}")

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"


async def test_where_viewers_need_tokens_reads_need_one(settings: Settings) -> None:
    secret = "s" * 32
    token = jwt.encode({"exp": time.time() + 60}, secret, "HS256")
    settings = Settings(**(settings.model_dump() | {"token_secret": secret}))
    async with (
        running(settings, frozenset({"web", "persist", "keeper"})) as process,
        process.client() as http,
    ):
        await process.archive.create_season(Season.parse(definition(12), 0))
        path = "/seasons/12/leaderboard/top"
        without = await http.get(path)
        wrong = await http.get(path, headers={"authorization": "Bearer x"})
        right = await http.get(path, headers={"authorization": f"Bearer {token}"})

    assert [answer.status_code for answer in (without, wrong, right)] == [401, 401, 200]
    assert without.json()["code"] == wrong.json()["code"] == "bad_token"
