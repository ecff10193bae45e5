"""Viewers follow a board: the first frame, diffs, around, rank-ups, and what they leave out."""

from tests.edge.clients import client
from tests.edge.stage import BOARD, running
from tests.waiting import until

TEN = {player: 100 * player for player in range(1, 11)}


async def test_a_socket_is_welcomed_with_the_protocol_and_the_limits() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        welcome = await viewer.find(lambda frame: frame["type"] == "welcome")
        assert viewer.line.subprotocol == "rankcast.v1"
        assert (welcome["protocol"], welcome["heartbeat_ms"]) == ("rankcast.v1", 15_000)
        assert welcome["limits"]["subscriptions"] == 32


async def test_a_subscription_is_answered_and_its_snapshot_follows_at_once() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        shown = await viewer.top(3)
        assert [row.player for row in shown.rows] == [10, 9, 8]
        assert shown.total == 10
        kinds = [frame["type"] for frame in viewer.frames]
        assert kinds == ["welcome", "ok", "snapshot"]


async def test_a_change_comes_as_a_diff_that_leads_to_the_same_rows() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        shown = await viewer.top(5)
        version = stage.board.set({1: 5000})
        await until(lambda: shown.version == version)
        assert shown.rows == stage.board.rows(5)
        assert (shown.whole, shown.diffs) == (1, 1)


async def test_a_view_whose_rows_did_not_change_is_sent_nothing() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        first, second = await viewer.top(3), await viewer.top(10)
        version = stage.board.set({1: 150})
        await until(lambda: second.version == version)
        version = stage.board.set({10: 5000})
        await until(lambda: first.version == version == second.version)
        assert (first.diffs, second.diffs) == (1, 2)


async def test_equal_views_share_one_topic_and_one_frame() -> None:
    async with running(TEN) as stage, client(stage.port) as one, client(stage.port) as other:
        await one.top(10)
        shown = await other.top(10)
        version = stage.board.set({1: 5000})
        await until(lambda: shown.version == version)
        assert len(stage.hub.boards[BOARD].views) == 1
        assert one.of("diff") == other.of("diff")


async def test_a_changed_total_alone_makes_a_frame() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        shown = await viewer.top(3)
        stage.board.set({11: 1})
        await until(lambda: shown.total == 11)
        assert viewer.of("diff")[0]["set"] == []


async def test_around_a_player_are_the_rows_to_both_sides() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        shown = await viewer.around(5, radius=2)
        assert (shown.rank, [row.player for row in shown.rows]) == (4, [7, 6, 5, 4, 3])


async def test_around_the_first_and_the_last_the_window_ends_where_the_board_ends() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        first, last = await viewer.around(10, radius=2), await viewer.around(1, radius=2)
        assert (first.rank, [row.player for row in first.rows]) == (1, [10, 9, 8])
        assert (last.rank, [row.player for row in last.rows]) == (8, [3, 2, 1])


async def test_rows_around_that_only_move_come_without_rows() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        shown = await viewer.around(5, radius=1)
        assert shown.rank == 5
        version = stage.board.set({1: 5000})
        await until(lambda: shown.version == version)
        assert (shown.rank, shown.whole, shown.diffs) == (6, 1, 1)
        assert "rows" not in viewer.of("around")[-1]


async def test_an_unranked_player_is_told_when_ranked() -> None:
    """F10"""
    async with running(TEN) as stage, client(stage.port) as viewer:
        shown = await viewer.around(77)
        assert (shown.rank, shown.rows) == (None, [])
        stage.board.set({77: 450})
        await until(lambda: shown.rank is not None)
        assert [row.player for row in shown.rows] == [6, 5, 77, 4, 3]


async def test_a_player_who_falls_out_of_the_best_is_followed_around() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        shown = await viewer.around(10, radius=1)
        stage.board.set({10: None})
        await until(lambda: shown.rank is None)
        stage.board.set({10: 150})
        await until(lambda: shown.rank == 8)
        assert [row.player for row in shown.rows] == [2, 10, 1]


async def test_a_rise_comes_to_the_players_own_views_after_the_frame_that_shows_it() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        shown = await viewer.around(5)
        version = stage.board.set({5: 5000})
        rise = await viewer.find(lambda frame: frame["type"] == "rankup")
        assert rise == {
            "type": "rankup",
            "topic": "s12/around/5/2",
            "epoch": shown.epoch,
            "version": version,
            "player": "5",
            "points": 5000,
            "before": 6,
            "after": 1,
        }
        kinds = [frame["type"] for frame in viewer.frames[-2:]]
        assert kinds == ["around", "rankup"]


async def test_a_rank_that_is_better_only_because_others_left_is_no_rise() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        shown = await viewer.around(5)
        stage.board.set({10: None, 9: None})
        await until(lambda: shown.rank == 2)
        stage.board.set({5: 5000})
        await viewer.find(lambda frame: frame["type"] == "rankup")
        assert [frame["before"] for frame in viewer.of("rankup")] == [4]


async def test_rank_ups_tell_who_comes_into_the_best_100_from_below() -> None:
    crowd = {player: 1000 + player for player in range(1, 151)}
    async with running(crowd) as stage, client(stage.port) as viewer:
        answer = await viewer.command("subscribe", board=BOARD, view="rankups")
        assert answer == {"type": "ok", "id": 1, "topic": "s12/rankups", "resumed": False}
        stage.board.set({150: 9000, 1: 8000, 2: 1003, 999: 7000})
        await until(lambda: len(viewer.of("rankup")) == 2)
        told = [(rise["player"], rise["before"], rise["after"]) for rise in viewer.of("rankup")]
        assert told == [("1", 150, 2), ("999", None, 3)]


async def test_of_one_tick_the_20_best_rank_ups_are_told() -> None:
    crowd = {player: 1000 + player for player in range(1, 201)}
    async with running(crowd) as stage, client(stage.port) as viewer:
        await viewer.command("subscribe", board=BOARD, view="rankups")
        stage.board.set({player: 9000 - player for player in range(1, 31)})
        await until(lambda: len(viewer.of("rankup")) == 20)
        stage.board.set({100: 20_000})
        await viewer.find(lambda frame: frame.get("player") == "100")
        assert [rise["after"] for rise in viewer.of("rankup")] == [*range(1, 21), 1]


async def test_the_same_rank_ups_are_told_to_everybody_once() -> None:
    """G6"""
    crowd = {player: 1000 + player for player in range(1, 151)}
    async with running(crowd) as stage, client(stage.port) as one, client(stage.port) as other:
        for viewer in (one, other):
            await viewer.command("subscribe", board=BOARD, view="rankups")
        stage.board.set({1: 8000})
        await until(lambda: one.of("rankup") and other.of("rankup"))
        assert one.of("rankup") == other.of("rankup")
        assert len(one.of("rankup")) == 1


async def test_a_hundred_changes_in_a_row_leave_every_viewer_with_the_board() -> None:
    async with running(TEN) as stage, client(stage.port) as viewer:
        top, around = await viewer.top(7), await viewer.around(5)
        for step in range(100):
            stage.board.set({1 + step % 10: 2000 + 37 * step % 900, 20 + step: step})
        version = stage.board.set({5: 3333})
        await until(lambda: top.version == around.version == version)
        assert top.rows == stage.board.rows(7)
        assert around.rows == stage.board.rows(3)
        assert top.whole == 1


async def test_score_zero_is_ranked_like_any_other() -> None:
    """F5"""
    async with running({1: 0, 2: 0}) as stage, client(stage.port) as viewer:
        shown = await viewer.top(10)
        assert [row.points for row in shown.rows] == [0, 0]
        assert [row.player for row in shown.rows] == [1, 2]
