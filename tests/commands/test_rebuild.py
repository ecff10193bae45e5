"""`rankcast rebuild`: its progress, what it says at the end, and why a second one is refused."""

import io
import re
from collections.abc import AsyncIterator

import pytest
from rich.console import Console

from server.archive.store import Archive
from server.board.connection import connect
from server.board.store import BoardStore
from server.commands.located import CommandError
from server.commands.rebuild import rebuild
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.both_sides import BothSides, both_sides


@pytest.fixture
def settings(redis_url: str, database_url: str) -> Settings:
    return Settings(redis_url=redis_url, database_url=database_url, rebuild_chunk=10)


@pytest.fixture
async def sides(settings: Settings) -> AsyncIterator[BothSides]:
    archive = await Archive.connect(settings.database_url or "", settings, Metrics())
    await archive.migrate()
    async with connect(settings.redis_url or "") as redis:
        sides = await both_sides(archive, BoardStore(redis, settings, Metrics()), redis)
        await sides.both(*[sides.maker.result(player, player % 5) for player in range(500)])
        yield sides
    await archive.close()


async def test_a_rebuild_shows_players_rate_and_time_left_and_what_it_did(
    sides: BothSides, settings: Settings
) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120, color_system=None)
    told = await rebuild(settings, 12, console)
    assert re.fullmatch(r"board s12 rebuilt: 500 players in \d+\.\d s", told)
    assert re.search(r"500 of 500 players, [\d,]+/s +(-|\d):(-+|\d\d):(--|\d\d)", screen.getvalue())


async def test_a_second_rebuild_at_the_same_time_is_refused_with_the_reason_f13(
    sides: BothSides, settings: Settings
) -> None:
    async with sides.boards.rebuilds.lock(12, "another"):
        with pytest.raises(CommandError) as refused:
            await rebuild(settings, 12, Console(file=io.StringIO()))
    assert re.fullmatch(
        r"season 12 is being worked on by another; wait until it is done or, "
        r"if that process is gone, \d+ seconds",
        str(refused.value),
    )
    assert refused.value.code == 1
