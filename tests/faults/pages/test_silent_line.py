"""Both pages on a line on which nothing passes for half a minute, and nobody says so."""

import asyncio

import pytest

from tests.browser.both import both_of
from tests.browser.pages import AWAY, Pages, eventually
from tests.browser.stage import Stage
from tests.browser.wire import Wire
from tests.waiting import until

SILENT_S = 30
PLAYERS = range(1, 31)

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]


async def test_half_a_minute_of_silence_costs_the_pages_nothing(
    pages: Pages, stage: Stage, line: Wire
) -> None:
    pages.forgive(*AWAY)
    made = await stage.board()
    await made.report({player: 1000 - player for player in PLAYERS})
    both = await both_of(pages, made, line.url)
    await eventually(both.are_right)
    rows = await both.rows()

    line.frozen = True
    await made.report({player: 2000 + player for player in PLAYERS})
    await asyncio.sleep(SILENT_S)
    assert await both.tell_of_it()
    assert await both.rows() == rows
    line.frozen = False

    await until(both.are_right, within=90, every=0.1)
    assert await both.are_the_same()
