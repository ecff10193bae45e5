"""Both pages of one board, open at once: what they show is held to what REST tells, and a reload is seen."""

import asyncio
from dataclasses import dataclass

from playwright.async_api import Page

from tests.browser.pages import Pages, Row, board, overlay
from tests.browser.stage import Board

# Chance spreads the tries of many pages over half a minute; two pages of a test need not wait for it.
SOON = "Math.random = () => 0.2"
_MARK = "window.loadedOnce = true"


@dataclass
class Both:
    """The live board and the overlay of one season's board."""

    made: Board
    board: Page
    overlay: Page

    async def are_right(self) -> bool:
        """Whether both are where REST is, and live; then both have to show the rows that REST tells."""
        told, shown, over = await asyncio.gather(self.made.told(), board(self.board), overlay(self.overlay))
        if {shown.position, over.position} != {told.position} or await self.state() != "live":
            return False
        assert [(rank, name.removeprefix("Player "), won) for rank, name, won in shown.rows] == told.rows
        assert over.rows == told.rows[: len(over.rows)]
        return len(over.rows) == min(10, len(told.rows)) and not await self.dot()

    async def state(self) -> str | None:
        """What the live board says of itself."""
        return await self.board.get_attribute("#page", "data-state")

    async def dot(self) -> bool:
        """Whether the overlay tells its streamer that its picture may be old."""
        return bool(await self.overlay.locator("#overlay.away").count())

    async def rows(self) -> tuple[list[Row], list[Row]]:
        """The rows of the live board, and those of the overlay."""
        return (await board(self.board)).rows, (await overlay(self.overlay)).rows

    async def tell_of_it(self) -> bool:
        """Whether both tell that the server is away."""
        return await self.state() == "away" and await self.dot()

    async def are_the_same(self) -> bool:
        """Whether neither page was loaded anew."""
        marks = [await page.evaluate("window.loadedOnce === true") for page in (self.board, self.overlay)]
        return all(marks)


async def both_of(pages: Pages, made: Board, base: str | None = None) -> Both:
    """Open both pages of this board; `base`: another way to the server."""
    opened = []
    for path in (f"/?board={made.name}", f"/overlay?board={made.name}"):
        page = await pages.open(path, base=base, ready=False)
        await page.add_init_script(SOON)
        await page.goto(path)
        await page.evaluate(_MARK)
        opened.append(page)
    return Both(made, *opened)
