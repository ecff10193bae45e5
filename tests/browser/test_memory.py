"""A day before the pages: they hold after ten thousand frames what they held after a thousand."""

from dataclasses import dataclass

import pytest
from playwright.async_api import CDPSession, Page

from tests.browser.long_run import Play, Screening
from tests.browser.pages import Pages, Reader, board, eventually, overlay
from tests.browser.stage import Stage

EARLY, LATE = 1_000, 10_000  # frames
AT_ONCE = 50  # a view each
DAY_MS = 24 * 3600 * 1000
JUMP_MS = DAY_MS * AT_ONCE // LATE

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Weight:
    """What a page holds: bytes of JavaScript, nodes of the document with those that are out of it."""

    heap: int
    nodes: int
    listeners: int


async def _weigh(page: Page, cdp: CDPSession) -> Weight:
    for _ in range(4):
        await page.clock.fast_forward(5_000)  # marks fade, strips go, rows that left are put away
    await cdp.send("HeapProfiler.collectGarbage")
    heap = await cdp.send("Runtime.getHeapUsage")
    counts = await cdp.send("Memory.getDOMCounters")
    return Weight(heap["usedSize"], counts["nodes"], counts["jsEventListeners"])


@pytest.mark.parametrize(("path", "read"), [("/overlay", overlay), ("/", board)])
async def test_a_day_of_frames_leaves_nothing_behind(
    pages: Pages, stage: Stage, path: str, read: Reader
) -> None:
    made = await stage.board()
    page = await pages.open(path, (400, 300), ready=False)
    play = Play(made.name)
    screening = Screening(page, play)
    await screening.begin(f"{path}?board={made.name}&player=-1")
    await eventually(lambda: _is_at(page, read, play.position))
    cdp = await page.context.new_cdp_session(page)
    weights = []
    for frames in (EARLY, LATE - EARLY):
        for _ in range(frames // AT_ONCE):
            await screening.go_on(AT_ONCE, JUMP_MS)
        await eventually(lambda: _is_at(page, read, play.position))
        weights.append(await _weigh(page, cdp))

    early, late = weights
    assert late.heap < 1.1 * early.heap
    assert late.nodes < 1.1 * early.nodes
    assert late.listeners <= early.listeners
    shown = (await read(page)).rows
    assert shown == play.rows(len(shown))


async def _is_at(page: Page, read: Reader, position: str) -> bool:
    return (await read(page)).position == position
