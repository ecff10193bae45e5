"""Pages behind a proxy that knows nothing of WebSockets: the same rows by server-sent events."""

import pytest
from playwright.async_api import Page

from tests.browser.both import SOON, both_of
from tests.browser.pages import AWAY, Pages, board, eventually
from tests.browser.stage import Board, Stage
from tests.browser.wire import Wire
from tests.waiting import until

PLAYERS = range(1, 31)
TABS = 8  # of one browser, which opens six lines to a server by HTTP/1.1

# Tabs of a browser without a head are all in sight.
_CURTAIN = """
  let state = "visible";
  Object.defineProperty(document, "visibilityState", { get: () => state });
  window.curtain = (now) => {
    state = now;
    document.dispatchEvent(new Event("visibilitychange"));
  };
"""

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(240)]


async def test_where_no_websocket_can_be_had_both_pages_show_the_same_by_events(
    pages: Pages, stage: Stage, line: Wire
) -> None:
    pages.forgive(*AWAY)
    made = await stage.board()
    await made.report({player: 1000 - player for player in PLAYERS})
    line.bars_sockets = True
    both = await both_of(pages, made, line.url)
    await until(both.are_right, within=60, every=0.1)

    await made.report({player: 2000 + 7 * player % 31 for player in PLAYERS})

    await eventually(both.are_right)
    assert line.sockets >= 4, "each page tries twice before it takes events"


async def test_eight_tabs_that_live_on_events_all_load_and_the_one_in_sight_is_live(
    pages: Pages, stage: Stage, line: Wire
) -> None:
    """D13"""
    pages.forgive(*AWAY)
    made = await stage.board()
    await made.report({1: 10})
    line.bars_sockets = True
    tabs: list[Page] = []
    for _ in range(TABS):
        for tab in tabs[-1:]:
            await tab.evaluate("curtain('hidden')")
        tab = await pages.open("/", base=line.url, ready=False, beside=tabs[0] if tabs else None)
        await tab.add_init_script(SOON)
        await tab.add_init_script(_CURTAIN)
        await tab.goto(f"/?board={made.name}")
        tabs.append(tab)
        await until(lambda: _shows(tabs[-1], made), within=60, every=0.1)

    await tabs[-1].evaluate("curtain('hidden')")
    await made.report({2: 20})
    await tabs[0].evaluate("curtain('visible')")

    await until(lambda: _shows(tabs[0], made), within=60, every=0.1)


async def _shows(page: Page, made: Board) -> bool:
    told, shown = await made.told(), await board(page)
    return shown.position == told.position and len(shown.rows) == len(told.rows)
