"""The first page in a real browser: the table follows the frames and equals what HTTP says."""

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Page, async_playwright

from tests.waiting import until
from tests.web.conftest import AUTH, Api, Running, submit

HEADLESS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest_asyncio.fixture
async def page(chromium: str) -> AsyncIterator[Page]:
    """A page of an empty browser; whatever its console complains about fails the test."""
    complaints: list[str] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=HEADLESS)
        page = await browser.new_page()
        page.on("console", lambda it: complaints.append(it.text) if it.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        yield page
        await browser.close()
    assert complaints == []


async def _rows(page: Page) -> list[tuple[str, str, str]]:
    """Rank, name and points of each row, by rank: gliding rows may stand in another order."""
    cells: list[list[str]] = await page.evaluate(
        "[...document.querySelectorAll('#rows tr')].map((row) => ['.rank', '.name bdi', '.points']"
        ".map((cell) => row.querySelector(cell).textContent.trim()))"
    )
    return sorted(((rank, name, points) for rank, name, points in cells), key=lambda row: int(row[0] or 0))


async def _state(page: Page) -> str | None:
    return await page.get_attribute("#state", "data-kind")


async def test_the_table_shows_the_board_and_follows_it(page: Page, shared: Running, rankcast: Api) -> None:
    await submit(rankcast, {1: 300, 2: 200, 2**63 - 1: 100})
    await page.goto(f"{shared.server.url}/?board=s{rankcast.season}")
    await until(lambda: _rows_are(page, ["Player 1", "Player 2", f"Player {2**63 - 1}"]))

    await submit(rankcast, {2: 400})

    await until(lambda: _rows_are(page, ["Player 2", "Player 1", f"Player {2**63 - 1}"]))
    top = (await rankcast.http.get(rankcast.top)).json()
    shown = await _rows(page)
    assert [row[2] for row in shown] == [str(entry["points"]) for entry in top["entries"]]
    assert await page.text_content("#version") == str(top["version"])
    assert await page.text_content("#players") == "3"
    assert await page.text_content("#season") == "Autumn"
    assert await _state(page) == "live"


async def _rows_are(page: Page, names: list[str]) -> bool:
    return [row[1] for row in await _rows(page)] == names


async def test_a_name_is_shown_as_text_whatever_it_holds(page: Page, shared: Running, rankcast: Api) -> None:
    """E12"""
    names = {"1": "<img src=x onerror=alert(1)>", "2": '"&amp;\u202eevil', "3": "e" + "\u0301" * 30}
    await rankcast.http.put("/players", json=names, headers=AUTH)
    await submit(rankcast, {1: 3, 2: 2, 3: 1})

    await page.goto(f"{shared.server.url}/?board=s{rankcast.season}")

    await until(lambda: _rows_are(page, list(names.values())))
    assert await page.locator("img").count() == 0


async def test_an_empty_board_says_so(page: Page, shared: Running, reader: Api) -> None:
    await page.goto(f"{shared.server.url}/?board=s{reader.season}")

    await until(lambda: page.is_visible("text=Nobody is ranked yet"))


async def test_a_board_that_does_not_exist_says_so(page: Page, shared: Running) -> None:
    await page.goto(f"{shared.server.url}/?board=s99999")

    await until(lambda: page.is_visible("text=99999"))


async def test_the_overlay_is_transparent_and_shows_its_rows(
    page: Page, shared: Running, rankcast: Api
) -> None:
    """E10"""
    await submit(rankcast, {1: 300, 2: 200})
    await page.set_viewport_size({"width": 400, "height": 200})
    await page.emulate_media(color_scheme="dark")

    await page.goto(f"{shared.server.url}/overlay?board=s{rankcast.season}&limit=1")

    await until(lambda: page.is_visible("text=300"))
    assert await page.locator("li").count() == 1
    colours = await page.evaluate(
        "[document.documentElement, document.body].map((node) => getComputedStyle(node).backgroundColor)"
    )
    assert colours == ["rgba(0, 0, 0, 0)"] * 2
    assert await page.evaluate("document.documentElement.scrollHeight <= innerHeight")


async def test_the_api_page_draws_every_call(page: Page, shared: Running, reader: Api) -> None:
    calls = (await reader.http.get("/openapi.json")).json()["paths"]

    await page.goto(f"{shared.server.url}/docs#unranked")

    await until(lambda: page.is_visible("text=unranked"))
    assert await page.locator("article").count() == sum(len(methods) for methods in calls.values())
