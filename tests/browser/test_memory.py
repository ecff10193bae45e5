"""A day before the pages: they hold after ten thousand frames what they held after a thousand."""

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.async_api import CDPSession, Page

from tests.browser.long_run import Play, screening
from tests.browser.pages import Pages, Reader, board, eventually, overlay
from tests.browser.stage import Stage

EARLY, LATE = 1_000, 10_000  # frames
AT_ONCE = 100  # a view each
DAY_MS = 24 * 3600 * 1000
JUMP_MS = DAY_MS * AT_ONCE // LATE
# What the engine makes of scripts grows while they warm up, and the document is counted by its nodes.
NOT_HELD = ("code", "native", "synthetic")

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Screen:
    """A page to fill, what it shows in the end, and a script that tells the version that it is at."""

    path: str
    read: Reader
    version: str
    motion: str


OVERLAY = Screen(
    "/overlay",
    overlay,
    "document.getElementById('overlay').dataset.position?.split('-')[1]",
    "no-preference",
)
# The order of the document's elements follows the rows within a second; frames do not wait for it.
BOARD = Screen(
    "/",
    board,
    "document.getElementById('version').textContent.replaceAll(',', '')",
    "reduce",  # a hundred gliding rows take minutes
)


@dataclass(frozen=True)
class Weight:
    """What a page holds: bytes of objects, arrays and texts; nodes, those out of the document too."""

    held: int
    nodes: int
    listeners: int


async def _weigh(page: Page, cdp: CDPSession) -> Weight:
    for _ in range(4):
        await page.clock.fast_forward(5_000)  # marks fade, strips go, rows that left are put away
    sizes = await _sizes(cdp)
    counts = await cdp.send("Memory.getDOMCounters")
    held = sum(size for kind, size in sizes.items() if kind not in NOT_HELD)
    return Weight(held, counts["nodes"], counts["jsEventListeners"])


async def _sizes(cdp: CDPSession) -> Counter[str]:
    """Bytes by kind of what is left in the page's heap after its garbage is gone."""
    told: list[str] = []
    cdp.on("HeapProfiler.addHeapSnapshotChunk", lambda event: told.append(event["chunk"]))
    await cdp.send("HeapProfiler.takeHeapSnapshot")
    snapshot: dict[str, Any] = json.loads("".join(told))
    meta = snapshot["snapshot"]["meta"]
    nodes, width = snapshot["nodes"], len(meta["node_fields"])
    kinds, size = meta["node_types"][0], meta["node_fields"].index("self_size")
    sizes: Counter[str] = Counter()
    for at in range(0, len(nodes), width):
        sizes[kinds[nodes[at]]] += nodes[at + size]
    return sizes


@pytest.mark.parametrize("screen", [OVERLAY, BOARD], ids=["overlay", "board"])
async def test_a_day_of_frames_leaves_nothing_behind(pages: Pages, stage: Stage, screen: Screen) -> None:
    made = await stage.board()
    play = Play(made.name)
    port = int(pages.url.rsplit(":", 1)[1])
    weights = []
    async with screening(port, play) as (url, shown):
        page = await pages.open(screen.path, (400, 300), ready=False, reduced_motion=screen.motion)
        await page.clock.install()
        await page.goto(f"{url}{screen.path}?board={made.name}&player=-1")
        for frames in (EARLY, LATE - EARLY):
            for _ in range(frames // AT_ONCE):
                await eventually(lambda: _has_seen(page, screen, play.version))
                shown.go_on(AT_ONCE)
                await page.clock.fast_forward(JUMP_MS)
            await eventually(lambda: _is_at(page, screen, play.position))
            weights.append(await _weigh(page, await page.context.new_cdp_session(page)))
        rows = (await screen.read(page)).rows
        assert rows == play.rows(len(rows))
        await page.close()  # before its line is gone, which it would complain of

    early, late = weights
    assert late.held < 1.1 * early.held
    assert late.nodes < 1.2 * early.nodes  # some spare rows, where more left at once than ever before
    assert late.listeners <= early.listeners


async def _has_seen(page: Page, screen: Screen, version: int) -> bool:
    return bool(await page.evaluate(screen.version) == str(version))


async def _is_at(page: Page, screen: Screen, position: str) -> bool:
    return (await screen.read(page)).position == position
