"""Both pages while the server dies or the line goes silent.

The last picture stays, says that it is old and since when, and goes on by itself: no page is loaded anew.
"""

import pytest
import pytest_asyncio
from playwright.async_api import Page

from tests.browser.both import both_of
from tests.browser.pages import AWAY, Pages, eventually
from tests.browser.stage import Board, Stage
from tests.browser.wire import Wire
from tests.waiting import until

BACK_S = 90  # until both pages are right again, on a busy machine
PLAYERS = range(1, 31)

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(240)]


@pytest_asyncio.fixture(loop_scope="session")
async def made(stage: Stage) -> Board:
    """A board with rows on it."""
    board = await stage.board()
    await board.report({player: 1000 - player for player in PLAYERS})
    return board


async def test_a_killed_server_leaves_the_last_picture_and_both_pages_go_on_with_the_next_one(
    pages: Pages, stage: Stage, made: Board
) -> None:
    pages.forgive(*AWAY)
    both = await both_of(pages, made)
    await eventually(both.are_right)
    rows = await both.rows()

    await stage.rankcast.kill()
    try:
        await eventually(both.tell_of_it)
        assert await both.rows() == rows
        await _is_grey_and_tells_since_when(both.board)
    finally:
        await stage.rankcast.start()
    await until(both.are_right, within=BACK_S, every=0.1)
    await made.report({player: 2000 + player for player in PLAYERS})
    await eventually(both.are_right)
    assert await both.are_the_same()


async def _is_grey_and_tells_since_when(page: Page) -> None:
    assert await page.evaluate("getComputedStyle(document.getElementById('board')).filter") == "grayscale(1)"
    assert "The server is away since" in await page.inner_text("#notice")


async def test_a_line_that_goes_silent_is_noticed_and_replaced_by_both_pages(
    pages: Pages, made: Board, line: Wire
) -> None:
    pages.forgive(*AWAY)
    both = await both_of(pages, made, line.url)
    await eventually(both.are_right)
    rows, tried = await both.rows(), line.sockets

    line.frozen = True
    await made.report({player: 2000 + player for player in PLAYERS})
    await eventually(both.tell_of_it)
    await eventually(lambda: line.sockets >= tried + 2)  # both have given their line up
    assert await both.rows() == rows
    line.frozen = False
    line.cut()

    await until(both.are_right, within=BACK_S, every=0.1)
    assert await both.are_the_same()
