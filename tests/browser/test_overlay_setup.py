"""The page that builds the overlay's address: what is chosen, previewed, copied and read back is the same."""

import pytest
from playwright.async_api import Page

from tests.browser.pages import Pages, eventually, overlay
from tests.browser.stage import Stage

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(120)]


async def test_what_is_chosen_becomes_an_address_that_the_preview_and_the_overlay_follow(
    pages: Pages, stage: Stage
) -> None:
    board = await stage.board()
    await board.call({950_001: "Ada", 950_002: "Edsger", 950_004: "Grace"})
    await board.report({950_000 + place: 100 - place for place in range(1, 7)})
    page = await pages.open("/overlay/setup")
    await eventually(lambda: page.locator("#preview").count())

    await page.select_option("[name=board]", board.name)
    await page.fill("[name=title]", "Ladder & co")
    await page.fill("[name=limit]", "2")
    await page.fill("[name=scale]", "1.5")
    await page.fill("[name=player]", "950004")
    await page.check("[value=light]")
    await page.uncheck("[value=rank]")
    await page.select_option("[name=lang]", "de")
    await page.uncheck("[name=rankups]")

    address = await page.input_value("#address")
    looks = "theme=light&scale=1.5&columns=name,points&title=Ladder+%26+co&lang=de&rankups=0"
    query = f"&limit=2&player=950004&{looks}"
    assert address == f"{pages.url}/overlay?board={board.name}{query}"
    await eventually(lambda: _previews(page, address))
    shown = await pages.open(address)
    rows = [(1, "Ada", 99), (2, "Edsger", 98), (4, "Grace", 96)]
    await eventually(lambda: _shows(shown, rows))
    assert await shown.get_attribute("#overlay", "data-theme") == "light"
    assert await shown.inner_text("#title") == "Ladder & co"
    assert not await shown.is_visible("li .rank")
    assert await shown.get_attribute("html", "lang") == "de"
    await eventually(lambda: page.frame_locator("#preview").locator("li").count())

    again = await pages.open(address.replace("/overlay?", "/overlay/setup?"))
    await eventually(lambda: _offers(again, address))


async def _previews(page: Page, address: str) -> bool:
    return any(frame.url == address for frame in page.frames)


async def _shows(page: Page, rows: list[tuple[int, str, int]]) -> bool:
    return (await overlay(page)).rows == rows


async def _offers(page: Page, address: str) -> bool:
    return await page.input_value("#address") == address


async def test_the_address_is_copied_by_a_button(pages: Pages, stage: Stage) -> None:
    board = await stage.board()
    permissions = ["clipboard-read", "clipboard-write"]
    page = await pages.open(f"/overlay/setup?board={board.name}", permissions=permissions)
    await eventually(lambda: _offers(page, f"{pages.url}/overlay?board={board.name}"))

    await page.click("#copy")

    await eventually(lambda: page.is_visible("text=Copied."))
    assert await page.evaluate("navigator.clipboard.readText()") == await page.input_value("#address")


async def test_an_id_that_is_none_is_marked_and_left_out(pages: Pages, stage: Stage) -> None:
    board = await stage.board()
    page = await pages.open(f"/overlay/setup?board={board.name}")
    usual = f"{pages.url}/overlay?board={board.name}"
    await eventually(lambda: _offers(page, usual))

    await page.fill("[name=player]", "007")

    assert await page.input_value("#address") == usual
    assert await page.locator("[name=player]:invalid").count() == 1
