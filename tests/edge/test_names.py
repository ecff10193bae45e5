"""Names come with the players who enter a view, late ones soon after, renames with the next frame."""

import asyncio
from collections.abc import Mapping
from typing import Any

from redis.asyncio import Redis

from server.live.names import CHANNEL, announce
from tests.edge.clients import client
from tests.edge.stage import running
from tests.waiting import until

TEN = {player: 100 * player for player in range(1, 11)}
NAMES = {player: f"player {player}" for player in range(1, 30)}


async def _announce(url: str, names: Mapping[int, str]) -> None:
    async with Redis.from_url(url) as redis:
        await until(lambda: redis.pubsub_numsub(CHANNEL), within=5)
        await announce(redis, names)


async def _heard(url: str) -> bool:
    async with Redis.from_url(url) as redis:
        [(_, count)] = await redis.pubsub_numsub(CHANNEL)
        return bool(count)


async def test_the_first_frame_of_a_view_has_the_names_of_its_players() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        stage.store.stored = {10: "Ada", 9: "Grüße <img>"}
        shown = await viewer.top(3)
        assert shown.names == {"10": "Ada", "9": "Grüße <img>"}


async def test_names_around_a_player_come_with_the_rows() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        stage.store.stored = dict(NAMES)
        shown = await viewer.around(5, radius=1)
        assert shown.names == {"6": "player 6", "5": "player 5", "4": "player 4"}


async def test_a_diff_has_the_names_of_those_alone_who_enter() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        stage.store.stored = dict(NAMES)
        await viewer.top(10)
        stage.board.set({1: 5000, 2: 6000})
        await until(lambda: len(viewer.of("diff")) == 1)
        stage.board.set({11: 7000})
        await until(lambda: "11" in viewer.screen["s12/top/10"].names)
        assert viewer.of("diff")[0]["names"] == {}
        later = [frame["names"] for frame in viewer.of("diff")[1:]]
        assert {player for names in later for player in names} == {"11"}


async def test_nobody_waits_for_names_that_cannot_be_read() -> None:
    """The first frame comes without them, and they follow when they are there."""
    async with running(TEN) as stage, client(stage.port) as viewer:
        stage.store.stored = dict(NAMES)
        stage.store.reachable.clear()
        shown = await viewer.top(3)
        assert (len(shown.rows), shown.names) == (3, {})
        stage.store.reachable.set()
        await until(lambda: len(shown.names) == 3)
        [late] = viewer.of("diff")
        assert (late["from"], late["to"], late["set"]) == (1, 1, [])


async def test_late_names_around_a_player_come_without_rows() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        stage.store.stored = dict(NAMES)
        stage.store.reachable.clear()
        shown = await viewer.around(5, radius=1)
        stage.store.reachable.set()
        await until(lambda: len(shown.names) == 3)
        assert "rows" not in viewer.of("around")[-1]


async def test_names_are_read_once_for_everybody() -> None:
    async with running(TEN) as stage, client(stage.port) as one, client(stage.port) as other:
        stage.store.stored = dict(NAMES)
        await one.top(10)
        await other.top(10)
        await other.top(5)
        asked = [player for ids in stage.store.asked for player in ids]
        assert sorted(asked) == sorted(TEN)


async def test_a_rename_comes_with_the_next_frame(redis_url: str) -> None:
    async with running(TEN, redis_url=redis_url) as stage, client(stage.port) as viewer:
        stage.store.stored = dict(NAMES)
        top, around = await viewer.top(10), await viewer.around(5, radius=1)
        await until(lambda: _heard(redis_url))
        await _announce(redis_url, {5: "Ada", 77: "nobody watches"})
        await until(lambda: top.names["5"] == around.names["5"] == "Ada")
        assert viewer.of("diff")[-1]["names"] == {"5": "Ada"}
        assert len(stage.names) == 10


async def test_who_was_behind_gets_the_rename_too(redis_url: str) -> None:
    """A frame leads from what a client has, names included, even where no version lies between."""
    async with running(TEN, redis_url=redis_url) as stage, client(stage.port) as viewer:
        stage.store.stored = dict(NAMES)
        async with client(stage.port) as gone:
            had = await gone.top(10)
        shown = await viewer.top(10)
        await until(lambda: _heard(redis_url))
        await _announce(redis_url, {5: "Ada"})
        await until(lambda: shown.names["5"] == "Ada")
        async with client(stage.port) as back:
            back.screen.topics["s12/top/10"] = had
            await back.top(10, have=had.have)
            await until(lambda: had.names["5"] == "Ada")


async def test_a_message_that_is_no_names_is_ignored(redis_url: str) -> None:
    async with running(TEN, redis_url=redis_url) as stage, client(stage.port) as viewer:
        stage.store.stored = dict(NAMES)
        shown = await viewer.top(10)
        await until(lambda: _heard(redis_url))
        async with Redis.from_url(redis_url) as redis:
            for nonsense in (b"", b"{", b"[]", b'{"x":"y"}', b"\xff", b'{"5":null}'):
                await redis.publish(CHANNEL, nonsense)
        await _announce(redis_url, {5: "Ada"})
        await until(lambda: shown.names["5"] == "Ada")


async def test_a_rename_that_nobody_heard_of_is_read_again_now_and_then() -> None:
    async with running(TEN, names_refresh_s=0.1) as stage, client(stage.port) as viewer:
        stage.store.stored = dict(NAMES)
        shown = await viewer.top(10)
        stage.store.stored[5] = "Ada"
        await until(lambda: shown.names["5"] == "Ada")


async def test_a_database_that_fails_is_asked_again() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        answers: list[Any] = [OSError("away"), None]

        async def names(ids: list[int]) -> dict[int, str]:
            failure = answers.pop(0) if answers else None
            if failure is not None:
                raise failure
            return dict(NAMES)

        stage.store.names = names  # type: ignore[method-assign]  # a store that fails once
        shown = await viewer.top(3)
        await until(lambda: len(shown.names) == 3)
        assert stage.count("names_failures_total", part="store") == 1


async def test_names_of_players_whom_nobody_watches_any_more_are_forgotten() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        stage.store.stored = dict(NAMES)
        await viewer.top(10)
        stage.names.prune({10, 9})
        assert len(stage.names) == 2
        await asyncio.gather(stage.names.load([10, 9, 8], 5.0))
        assert stage.names.of([8]) == {8: "player 8"}
