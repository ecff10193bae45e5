"""The demo's clock and buttons on the live board, against a Rankcast that plays it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from server.embedded.postgres import Postgres
from server.embedded.tansu import Tansu
from server.embedded.valkey import Valkey
from tests import services
from tests.browser.pages import Pages, board, eventually
from tests.whole.running import running

DEMO = {"RANKCAST_DEMO": "true", "RANKCAST_DEMO_SPEED": "25", "RANKCAST_KEEPER_EVERY_S": "0.1"}

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(180)]


@pytest_asyncio.fixture(loop_scope="session")
async def demo(browser: Browser, place: Path, postgres: Postgres, kafka: Tansu) -> AsyncIterator[Pages]:
    """Pages of a Rankcast that plays the demo, with a Redis and a database of its own."""
    valkey = Valkey(place / "valkey", "test", durable=False)
    await valkey.start()
    database_url = await services.new_database(postgres.address)
    topic = await services.new_topic(kafka.address)
    async with running(place, valkey.address, database_url, kafka.address, topic, **DEMO) as rankcast:
        made = Pages(browser, rankcast.url)
        yield made
        await made.close()
    await valkey.stop()
    await services.drop_database(postgres.address, database_url)
    assert made.unforgiven() == []


async def _year(page: Page) -> int:
    return int(await page.inner_text("#demo-year") or 0)


async def _is_after(page: Page, year: int) -> bool:
    return await _year(page) > year


async def _phase_is(page: Page, phase: str) -> bool:
    return await page.get_attribute("#demo", "data-phase") == phase


async def test_the_clock_runs_with_the_board_and_obeys_its_buttons(demo: Pages) -> None:
    page = await demo.open("/")
    await eventually(lambda: page.is_visible("#demo"))
    assert "Every goal since 1872" in await page.inner_text("#about")
    await eventually(lambda: _is_after(page, 1910))
    assert await page.locator("#demo-match bdi").count() == 2

    await page.click("#demo-pause")
    await eventually(lambda: _phase_is(page, "paused"))
    assert await page.inner_text("#demo-phase") == "Paused"
    assert await page.get_attribute("#demo-pause", "aria-pressed") == "true"

    await page.click("[data-speed='100']")
    await eventually(lambda: _phase_is(page, "playing"))
    assert await page.get_attribute("[data-speed='100']", "aria-pressed") == "true"
    await eventually(lambda: _is_after(page, 1950))
    players = len((await board(page)).rows)

    await page.click("[data-speed='1']")
    await page.click("#demo-restart")
    await eventually(lambda: _is_back(page))
    assert players > 50


async def _is_back(page: Page) -> bool:
    """Whether clock and board stand in the first years again."""
    return 1872 <= await _year(page) < 1890 and 0 < len((await board(page)).rows) < 10


async def test_who_may_not_press_the_buttons_does_not_see_them(demo: Pages) -> None:
    elsewhere = {"x-forwarded-for": "203.0.113.7"}  # as a proxy tells it
    page = await demo.open("/", extra_http_headers=elsewhere)

    await eventually(lambda: page.is_visible("#demo"))
    assert await page.is_hidden("#demo-buttons")
