"""Coming back: from where a client is, or anew, and never wrong."""

from tests.edge.clients import client
from tests.edge.screen import Shown
from tests.edge.stage import BOARD, Stage, running
from tests.waiting import until

TEN = {player: 100 * player for player in range(1, 11)}


async def _left(stage: Stage, limit: int = 5) -> Shown:
    """What a client had that subscribed and left."""
    async with client(stage.port) as viewer:
        return await viewer.top(limit)


async def _next_version(stage: Stage, watcher: Shown, player: int, points: int) -> None:
    """Change a player's points and wait until this watcher was shown it."""
    version = stage.board.set({player: points})
    await until(lambda: watcher.version == version)


async def test_who_comes_back_gets_one_diff_over_all_that_was_missed() -> None:
    """G3"""
    async with running(TEN) as stage, client(stage.port) as stays, client(stage.port) as back:
        watcher, had = await stays.top(5), await _left(stage)
        for player in (1, 2, 3):
            await _next_version(stage, watcher, player, 5000 + player)
        back.screen.topics["s12/top/5"] = had
        shown = await back.top(5, have=had.have)
        await until(lambda: shown.version == watcher.version)
        kinds = [frame["type"] for frame in back.frames]
        assert kinds == ["welcome", "ok", "diff"]
        assert back.frames[1]["resumed"] is True
        assert shown.rows == stage.board.rows(5)


async def test_coming_back_again_brings_nothing_twice() -> None:
    """G3"""
    async with running(TEN) as stage, client(stage.port) as stays, client(stage.port) as back:
        watcher, had = await stays.top(5), await _left(stage)
        await _next_version(stage, watcher, 1, 5000)
        back.screen.topics["s12/top/5"] = had
        shown = await back.top(5, have=had.have)
        await back.command("unsubscribe", topic="s12/top/5")
        back.screen.topics["s12/top/5"] = shown
        await back.command("subscribe", board=BOARD, view="top", limit=5, have=shown.have)
        await until(lambda: len(back.of("diff")) == 2)
        first, second = back.of("diff")
        assert (len(first["set"]), second["set"], second["gone"]) == (1, [], [])


async def test_after_a_quiet_time_nothing_is_sent_anew() -> None:
    """G2: nothing was missed, so nothing but an empty diff is needed."""
    async with running(TEN) as stage, client(stage.port) as back:
        had = await _left(stage)
        back.screen.topics["s12/top/5"] = had
        await back.command("subscribe", board=BOARD, view="top", limit=5, have=had.have)
        diff = await back.find(lambda frame: frame["type"] == "diff")
        assert (diff["from"], diff["to"], diff["set"], diff["gone"]) == (1, 1, [], [])


async def test_a_view_that_nobody_watched_meanwhile_is_resumed_too() -> None:
    """All viewers lost their line at once, and come back."""
    async with running(TEN) as stage, client(stage.port) as back:
        had = await _left(stage)
        await until(lambda: not [v for v in stage.hub.boards[BOARD].views.values() if v.outbox.members()])
        stage.board.set({1: 5000})
        back.screen.topics["s12/top/5"] = had
        shown = await back.top(5, have=had.have)
        await until(lambda: shown.version == 2)
        assert [frame["type"] for frame in back.frames] == ["welcome", "ok", "diff"]
        assert shown.rows == stage.board.rows(5)


async def test_a_view_that_nobody_comes_back_to_is_forgotten() -> None:
    async with running(TEN, linger_s=0.1, heartbeat_ms=100) as stage:
        await _left(stage)
        await until(lambda: not stage.hub.boards[BOARD].views)


async def test_a_position_that_is_too_far_back_gets_a_snapshot() -> None:
    async with (
        running(TEN, resume_positions=2) as stage,
        client(stage.port) as stays,
        client(stage.port) as back,
    ):
        watcher, had = await stays.top(5), await _left(stage)
        for step in range(3):
            await _next_version(stage, watcher, 1, 5000 + step)
        answer = await back.command("subscribe", board=BOARD, view="top", limit=5, have=had.have)
        assert answer["resumed"] is False
        await back.find(lambda frame: frame["type"] == "snapshot")


async def test_a_position_of_another_process_that_was_not_shown_here_gets_a_snapshot() -> None:
    """D10"""
    async with running(TEN) as stage, client(stage.port) as stays, client(stage.port) as back:
        watcher = await stays.top(5)
        stage.board.mirror.replica.heard = 7
        await _next_version(stage, watcher, 1, 5000)
        have = {"epoch": watcher.epoch, "version": 5}
        answer = await back.command("subscribe", board=BOARD, view="top", limit=5, have=have)
        assert answer["resumed"] is False
        assert (await back.find(lambda frame: frame["type"] == "snapshot"))["version"] == 8


async def test_a_position_of_another_epoch_gets_a_snapshot() -> None:
    async with running(TEN) as stage, client(stage.port) as back:
        have = {"epoch": "ffffffffffffffff", "version": 1}
        answer = await back.command("subscribe", board=BOARD, view="top", limit=5, have=have)
        assert answer["resumed"] is False


async def test_rows_around_that_are_known_come_without_rows() -> None:
    async with running(TEN) as stage, client(stage.port) as stays, client(stage.port) as back:
        watcher = await stays.around(5, radius=1)
        async with client(stage.port) as gone:
            had = await gone.around(5, radius=1)
        await _next_version(stage, watcher, 1, 5000)  # moves the rows as they are
        back.screen.topics["s12/around/5/1"] = had
        wanted = {"view": "around", "player": "5", "radius": 1, "have": had.have}
        answer = await back.command("subscribe", board=BOARD, **wanted)
        assert answer["resumed"] is True
        frame = await back.find(lambda frame: frame["type"] == "around")
        assert ("rows" in frame, frame["rank"]) == (False, 6)


async def test_rows_around_that_have_changed_come_whole() -> None:
    async with running(TEN) as stage, client(stage.port) as stays, client(stage.port) as back:
        watcher = await stays.around(5, radius=1)
        async with client(stage.port) as gone:
            had = await gone.around(5, radius=1)
        await _next_version(stage, watcher, 5, 555)
        wanted = {"view": "around", "player": "5", "radius": 1, "have": had.have}
        answer = await back.command("subscribe", board=BOARD, **wanted)
        assert answer["resumed"] is False
        assert "rows" in await back.find(lambda frame: frame["type"] == "around")


async def test_only_state_frames_move_the_position() -> None:
    """G3: rank-ups and heartbeats between diffs leave the cursor alone."""
    async with running(TEN, heartbeat_ms=100) as stage, client(stage.port) as viewer:
        shown = await viewer.top(5)
        await viewer.around(1)
        await viewer.command("subscribe", board=BOARD, view="rankups")
        for step in range(5):
            await _next_version(stage, shown, 1, 5000 + step)
        await until(lambda: viewer.of("heartbeat") and viewer.of("rankup"))
        assert [frame["from"] for frame in viewer.of("diff")] == [1, 2, 3, 4, 5]
        assert all("to" not in frame for frame in viewer.of("rankup") + viewer.of("heartbeat"))
