"""Every page in every state, as people with other eyes and hands meet it: axe-core finds no serious fault.

Held in dark and light colours, on a phone and on a desktop; the consoles are watched as in all pages' tests.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from playwright.async_api import Page

from tests.browser.following import JS
from tests.browser.pages import AWAY, Pages, eventually
from tests.browser.stage import Board, Stage
from tests.browser.wire import Wire

SCHEMES = ("dark", "light")
SIZES = ((390, 844), (1280, 900))
GRAVE = ("serious", "critical")
# Frames of other pages are held by tests of those pages.
_RUN = "() => axe.run({ iframes: false }).then((result) => result.violations)"

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(180),
    pytest.mark.usefixtures("tools"),
]


async def _grave_faults(page: Page) -> list[str]:
    """What axe-core finds that keeps somebody out, in each size and colour."""
    await page.evaluate((JS / "node_modules" / "axe-core" / "axe.min.js").read_text())
    faults = []
    for width, height in SIZES:
        await page.set_viewport_size({"width": width, "height": height})
        for scheme in SCHEMES:
            await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            found: list[dict[str, Any]] = await page.evaluate(_RUN)
            faults += [_told(it, f"{width} px, {scheme}") for it in found if it["impact"] in GRAVE]
    return faults


def _told(fault: dict[str, Any], where: str) -> str:
    nodes = [node["html"] + str([why["message"] for why in node["any"]]) for node in fault["nodes"]]
    return f"{where}: {fault['id']}: {nodes[:3]}"


class Scenes:
    """Opens a page and brings it into a state."""

    def __init__(self, pages: Pages, stage: Stage, line: Wire) -> None:
        self._pages, self._stage, self._line = pages, stage, line

    async def _made(self) -> Board:
        made = await self._stage.board()
        await made.report({960_000 + place: 1000 - place for place in range(1, 13)})
        await made.call({960_001: "Ada Lovelace", 960_002: "مريم بنت عبد الله"})
        return made

    async def _open(self, path: str, base: str | None = None) -> Page:
        return await self._pages.open(path, base=base, reduced_motion="reduce")

    async def rows_and_a_player(self) -> Page:
        """The live board with a player chosen."""
        page = await self._open(f"/?board={(await self._made()).name}&player=960007")
        await page.wait_for_selector("#neighbour-rows tr")
        return page

    async def found_players(self) -> Page:
        """The live board while somebody searches."""
        page = await self._open(f"/?board={(await self._made()).name}")
        await page.wait_for_selector("#rows tr")
        await page.fill("#search", "960007")
        await page.wait_for_selector("#found li")
        return page

    async def empty(self) -> Page:
        """The live board of a season without results."""
        return await self._in_state(f"/?board={(await self._stage.board()).name}", "empty")

    async def unknown(self) -> Page:
        """The live board of a season that is not there."""
        return await self._in_state("/?board=s99999", "unknown")

    async def ended(self) -> Page:
        """The live board of a season that is over."""
        made = await self._made()
        page = await self._pages.open("/", ready=False, reduced_motion="reduce")
        await page.clock.set_system_time("2100-02-01")
        await page.goto(f"/?board={made.name}")
        return await self._until_in(page, "ended")

    async def away(self) -> Page:
        """The live board after its server has gone."""
        self._pages.forgive(*AWAY)
        page = await self._open(f"/?board={(await self._made()).name}", self._line.url)
        await page.wait_for_selector("#rows tr")
        self._line.target = 1  # nobody listens there
        self._line.cut()
        return await self._until_in(page, "away")

    async def overlay(self) -> Page:
        """The overlay."""
        made = await self._made()
        page = await self._open(f"/overlay?board={made.name}&title=Autumn&player=960012&limit=5")
        await page.wait_for_selector("#rows li")
        return page

    async def setup(self) -> Page:
        """The page that builds the overlay's address."""
        page = await self._open(f"/overlay/setup?board={(await self._made()).name}")
        await page.frame_locator("#preview").locator("li").first.wait_for()
        return page

    async def docs(self) -> Page:
        """The API's page."""
        page = await self._open("/docs")
        await page.wait_for_selector("article")
        return page

    async def _in_state(self, path: str, state: str) -> Page:
        return await self._until_in(await self._open(path), state)

    async def _until_in(self, page: Page, state: str) -> Page:
        await eventually(lambda: _is_in(page, state))
        return page


async def _is_in(page: Page, state: str) -> bool:
    return await page.get_attribute("#page", "data-state") == state


Scene = Callable[[Scenes], Awaitable[Page]]
ALL: tuple[Scene, ...] = (
    *(Scenes.rows_and_a_player, Scenes.found_players, Scenes.empty, Scenes.unknown, Scenes.ended),
    *(Scenes.away, Scenes.overlay, Scenes.setup, Scenes.docs),
)


@pytest.mark.parametrize("scene", ALL, ids=[scene.__name__ for scene in ALL])
async def test_axe_finds_no_serious_fault(pages: Pages, stage: Stage, line: Wire, scene: Scene) -> None:
    page = await scene(Scenes(pages, stage, line))

    assert await _grave_faults(page) == []


async def test_a_breach_of_the_policy_would_be_seen(pages: Pages) -> None:
    page = await pages.open("/docs")

    await page.evaluate("document.body.setAttribute('onclick', 'alert(1)')")

    await eventually(lambda: any(said.startswith("policy: ") for said in pages.complaints))
    pages.complaints.clear()
