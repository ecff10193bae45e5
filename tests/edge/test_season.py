"""Boards that are replaced, still being made, or lag."""

import asyncio

from tests.edge.clients import client, raw
from tests.edge.stage import BOARD, running
from tests.waiting import until

TEN = {player: 100 * player for player in range(1, 11)}


async def test_a_replaced_board_is_told_and_begins_with_a_snapshot() -> None:
    """F6"""
    async with running(TEN) as stage, client(stage.port) as viewer:
        top, around = await viewer.top(5), await viewer.around(5)
        before = top.epoch
        stage.board.set({1: 5000})
        stage.board.replace({77: 5}, reason="reset")
        await until(lambda: top.rows and top.rows[0].player == 77 and around.rank is None)
        assert (top.notices, around.notices) == (["reset"], ["reset"])
        assert top.epoch == around.epoch != before
        assert (top.version, top.total) == (1, 1)


async def test_a_replaced_board_is_told_on_rank_ups_too() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        await viewer.command("subscribe", board=BOARD, view="rankups")
        stage.board.replace(TEN, reason="closed")
        assert (await viewer.find(lambda frame: frame["type"] == "season"))["reason"] == "closed"
        stage.board.set({77: 5000})
        await viewer.find(lambda frame: frame["type"] == "rankup")
        assert len(viewer.of("season")) == 1


async def test_rises_across_a_replacement_are_none() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        shown = await viewer.around(1)
        stage.board.replace({player: 1000 - player for player in TEN})
        await until(lambda: shown.rank == 1)
        stage.board.set({1: 5000, 2: 4000})
        await until(lambda: shown.version == 2)
        await viewer.command("ping")
        assert viewer.of("rankup") == []


async def test_two_replacements_that_a_reader_missed_are_one_piece_of_news() -> None:
    many = {player: 1000 + player for player in range(1, 301)}
    async with running(many, outbox_bytes=1024) as stage, raw(stage.port, receive_buffer=2048) as viewer:
        await viewer.command(id=1, op="subscribe", board=BOARD, view="top", limit=300)
        await viewer.read_until(lambda: viewer.screen.shows("s12/top/300"))
        [connection] = stage.hub.viewers
        view = stage.hub.boards[BOARD].views["s12/top/300"]
        while view.outbox.got(connection) == view.number:
            version = stage.board.set({player: 2000 + (player * 7919) % 90_000 for player in many})
            await until(lambda: view.position() == (stage.board.mirror.epoch, version), every=0.001)  # noqa: B023  awaited in its round
        for points in ({1: 1}, {2: 2}):
            stage.board.replace(points)
            await until(lambda: view.position() == (stage.board.mirror.epoch, 1), every=0.001)
        shown = viewer.screen["s12/top/300"]
        await viewer.read_until(lambda: shown.epoch == stage.board.mirror.epoch)
        assert [row.player for row in shown.rows] == [2]
        assert shown.notices == ["replaced"]


async def test_a_board_that_is_still_being_made_is_empty_and_says_so() -> None:
    """D14: it has no epoch, and the picture is called stale."""
    async with running(None) as stage, client(stage.port) as viewer:
        shown = await viewer.top(5)
        await until(lambda: viewer.screen.stale)
        assert (shown.epoch, shown.version, shown.rows) == (None, 0, [])
        assert viewer.screen.stale == {BOARD: "building"}


async def test_a_board_that_has_been_made_is_announced_and_shown() -> None:
    """D14"""
    async with running(None) as stage, client(stage.port) as viewer:
        shown = await viewer.top(5)
        await until(lambda: viewer.screen.stale)
        stage.board.replace(TEN)
        await until(lambda: len(shown.rows) == 5 and not viewer.screen.stale)
        assert shown.notices == ["replaced"]


async def test_a_board_that_has_not_been_read_yet_is_waited_for() -> None:
    """D14: the answer waits; no empty board is shown meanwhile."""
    async with running(TEN) as stage, client(stage.port) as viewer:
        stage.boards.may_open.clear()
        asking = asyncio.create_task(viewer.top(5))
        await viewer.command("ping")
        assert [frame["type"] for frame in viewer.frames] == ["welcome", "ok"]
        stage.boards.may_open.set()
        assert len((await asking).rows) == 5


async def test_an_empty_board_is_an_ordinary_board() -> None:
    """F10"""
    async with running({}) as stage, client(stage.port) as viewer:
        shown, around = await viewer.top(5), await viewer.around(1)
        assert (shown.epoch, shown.rows, shown.total) == ("0" * 15 + "1", [], 0)
        assert (around.rank, around.rows) == (None, [])
        assert viewer.frames[2]["crc"] == 0


async def test_a_picture_that_lags_is_called_stale_until_it_is_fresh() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        await viewer.top(5)
        stage.board.mirror.mark_stale("unreachable")
        await until(lambda: viewer.screen.stale == {BOARD: "unreachable"})
        stage.board.mirror.mark_fresh()
        await until(lambda: not viewer.screen.stale)
        [stale] = viewer.of("stale")
        assert isinstance(stale["since"], int)


async def test_a_picture_that_lags_for_a_moment_is_not_talked_about() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        shown = await viewer.top(5)
        stage.board.mirror.mark_stale("gap")
        version = stage.board.set({1: 5000})
        await until(lambda: shown.version == version)
        stage.board.mirror.mark_fresh()
        version = stage.board.set({2: 6000})
        await until(lambda: shown.version == version)
        assert viewer.of("stale") == []


async def test_who_joins_a_board_that_lags_is_told_so() -> None:
    async with running(TEN) as stage, client(stage.port) as one, client(stage.port) as other:
        await one.top(5)
        stage.board.mirror.mark_stale("unreachable")
        await until(lambda: one.screen.stale)
        await other.top(5)
        await until(lambda: other.screen.stale == {BOARD: "unreachable"})
        assert len(one.of("stale")) == 1
