"""The overlay over a stream, in a real browser against the whole of Rankcast: what it shows and where."""

from typing import Any

import pytest
from playwright.async_api import Page

from tests.browser.pages import Pages, Row, eventually, overlay, pixel
from tests.browser.stage import Board, Stage

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(120)]

# Watches every frame of the screen: does the strip ever lie over the rows, or outside of the picture?
_WATCH_BANNER = """
() => {
  const [rows, banner] = ["rows", "banner"].map((id) => document.getElementById(id));
  window.seen = { shown: 0, faults: [] };
  let height = innerHeight; // as the page was told: the test's clock draws between a change and its event
  addEventListener("resize", () => (height = innerHeight));
  const look = () => {
    const [above, strip] = [rows.getBoundingClientRect(), banner.getBoundingClientRect()];
    if (Number(getComputedStyle(banner).opacity) > 0 && height === innerHeight) {
      window.seen.shown++;
      const inside = strip.top >= above.bottom && strip.bottom <= innerHeight && strip.right <= innerWidth;
      if (!inside) window.seen.faults.push([above.bottom, strip.top, strip.bottom, innerHeight]);
    }
    requestAnimationFrame(look);
  };
  look();
}
"""
_BOXES = """
() => {
  const box = (node) => node.getBoundingClientRect();
  const list = box(document.getElementById("rows"));
  return [...document.querySelectorAll("#rows li")].map((li) => {
    const [rank, name, points] = [".rank", ".name", ".points"].map((part) => box(li.querySelector(part)));
    const [row, letters] = [box(li), box(li.querySelector("bdi"))];
    return { height: row.height, inside: row.right <= list.right + 0.5 && row.left >= list.left - 0.5,
             apart: rank.right <= letters.left && letters.right <= points.left && points.right <= row.right,
             flat: letters.bottom <= row.bottom && letters.top >= row.top };
  });
}
"""


async def _shows(page: Page, board: Board, limit: int = 10) -> bool:
    """Whether the overlay is where REST is; then it has to show the same."""
    told, shown = await board.told(limit), await overlay(page)
    assert shown.position != told.position or shown.rows == told.rows
    return shown.position == told.position


async def _rows_are(page: Page, rows: list[Row]) -> bool:
    return (await overlay(page)).rows == rows


async def test_rows_equal_those_of_rest_at_the_same_position(pages: Pages, stage: Stage) -> None:
    board = await stage.board()
    await board.report({player: 7 * player % 40 for player in [2**63 - 1, -(2**63), *range(1, 30)]})
    page = await pages.open(f"/overlay?board={board.name}")
    await eventually(lambda: _shows(page, board))

    for turn in range(5):
        await board.report({player: 40 + 11 * turn * player % 97 for player in range(turn, 40, 3)})

        await eventually(lambda: _shows(page, board))


async def test_a_posted_result_moves_a_row_and_marks_it(pages: Pages, stage: Stage) -> None:
    board = await stage.board()
    await board.report({1: 300, 2: 200, 3: 100})
    page = await pages.open(f"/overlay?board={board.name}")
    await eventually(lambda: _shows(page, board))
    await page.evaluate(
        "window.row = [...document.querySelectorAll('li')].find((li) => li.innerText.includes('100'))"
    )

    await board.report({3: 400})

    await eventually(lambda: _shows(page, board))
    assert (await overlay(page)).rows == [(1, "3", 400), (2, "1", 300), (3, "2", 200)]
    assert "▲ 2" in await page.evaluate("row.innerText"), "it is the same element, marked"
    assert await page.locator("li.down").count() == 2
    await eventually(
        lambda: page.evaluate("row.offsetTop + new DOMMatrix(getComputedStyle(row).transform).f === 0")
    )


async def test_it_is_transparent_by_itself_and_fits_a_small_source(pages: Pages, stage: Stage) -> None:
    """E10"""
    board = await stage.board()
    await board.report({player: player for player in range(1, 31)})
    for theme in ("dark", "light", "clear"):
        address = f"/overlay?board={board.name}&limit=30&theme={theme}"
        page = await pages.open(address, (400, 200), color_scheme="dark")
        await page.wait_for_selector("li")

        assert await pixel(page, 395, 100) == (0, 0, 0, 0)
        size = "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
        assert await page.evaluate(size) == [400, 200]
        boxes = await page.evaluate(_BOXES)
        assert len(boxes) >= 4
        assert all(box["inside"] and box["apart"] and box["flat"] for box in boxes)
        assert await page.evaluate("document.getElementById('rows').getBoundingClientRect().bottom") < 200


async def test_a_browser_source_that_cannot_run_it_says_so(pages: Pages) -> None:
    """E11"""
    pages.forgive("Failed to load resource")
    page = await pages.open("/overlay", ready=False)
    await page.route("**/overlay.js", lambda route: route.abort())
    await page.goto("/overlay")

    await eventually(lambda: page.is_visible("text=needs a browser source of 2022 or later"))


async def test_the_chosen_player_is_shown_below_and_followed(pages: Pages, stage: Stage) -> None:
    board = await stage.board()
    await board.report({player: 1000 - player for player in range(1, 121)})
    page = await pages.open(f"/overlay?board={board.name}&limit=5&player=115")

    first = [(rank, str(rank), 1000 - rank) for rank in range(1, 6)]
    await eventually(lambda: _rows_are(page, [*first, (115, "115", 885)]))
    assert await page.locator("li.own").count() == 1

    await board.report({115: 950})  # still below, and now among the best hundred
    await eventually(lambda: _rows_are(page, [*first, (51, "115", 950)]))

    await board.report({115: 998})  # among the others
    await eventually(
        lambda: _rows_are(page, [first[0], (2, "2", 998), (3, "115", 998), (4, "3", 997), (5, "4", 996)])
    )
    assert await page.locator("li.own .points").text_content() == "998"

    await board.report({player: 2000 + player for player in range(201, 321)})  # and far outside
    await eventually(lambda: _own_is(page, (123, "115", 998)))
    assert len((await overlay(page)).rows) == 6


async def _own_is(page: Page, row: Row) -> bool:
    return (await overlay(page)).rows[-1] == row


async def test_the_banner_never_covers_the_rows_and_three_wait_at_most(pages: Pages, stage: Stage) -> None:
    board = await stage.board()
    await board.report({player: 2000 - player for player in range(1, 131)})
    address = f"/overlay?board={board.name}&limit=100&player=130"
    page = await pages.open(address, ready=False)
    await page.clock.install()
    await page.goto(address)
    await eventually(lambda: page.locator("li").count())
    await page.evaluate(_WATCH_BANNER)

    await board.report({player: 3000 + player for player in range(121, 130)})

    said: list[str] = []
    await eventually(lambda: _is_up_to_date(page, board))
    while await page.locator("#banner.shown").count():
        said.append(await page.inner_text("#banner bdi"))
        await page.set_viewport_size({"width": 1280, "height": 300 if len(said) % 2 else 720})
        await page.clock.fast_forward(3500)
        await eventually(lambda: _hidden(page))
        await page.clock.fast_forward(350)
    assert len(set(said)) == 4, "the first, and three that waited"
    seen: dict[str, Any] = await page.evaluate("seen")
    assert seen["faults"] == []
    assert seen["shown"] > 0


async def _is_up_to_date(page: Page, board: Board) -> bool:
    return (await overlay(page)).position == (await board.told()).position


async def _hidden(page: Page) -> bool:
    return not await page.locator("#banner.shown").count()


async def test_rank_ups_are_left_out_where_the_address_says_so(pages: Pages, stage: Stage) -> None:
    board = await stage.board()
    await board.report({1: 10, 2: 5})
    quiet = await pages.open(f"/overlay?board={board.name}&rankups=0")
    loud = await pages.open(f"/overlay?board={board.name}")
    await eventually(lambda: _shows(quiet, board))
    await eventually(lambda: _shows(loud, board))

    await board.report({3: 20})

    await eventually(lambda: loud.locator("#banner.shown").count())
    assert await loud.inner_text("#banner") == "3\nenters at\n#1"
    await eventually(lambda: _shows(quiet, board))
    assert not await quiet.is_visible("#banner")
    assert await quiet.text_content("#banner") == ""


async def test_a_board_that_is_not_there_is_named_and_shown_once_it_is_made(
    pages: Pages, stage: Stage
) -> None:
    board = stage.unmade()
    page = await pages.open(f"/overlay?board={board.name}", ready=False)
    await page.clock.install()
    await page.goto(f"/overlay?board={board.name}")
    await eventually(lambda: page.is_visible(f"text=There is no board {board.name}"))

    await stage.make(board)
    await page.clock.fast_forward(16_000)
    await eventually(lambda: page.is_visible("text=Waiting for the first result"))
    await board.report({1: 5})

    await eventually(lambda: _rows_are(page, [(1, "1", 5)]))
    assert not await page.is_visible("#message")


async def test_names_are_text_and_leave_the_layout_as_it_is(pages: Pages, stage: Stage) -> None:
    """E12"""
    board = await stage.board()
    first = 940_001  # other tests' players have no names
    names = [
        "<img src=x onerror=alert(1)>",
        "\"quoted\" & '&amp;' <b>bold</b>",
        "\u202etxet desrever",
        "e" + "\u0301" * 63,
        "👩‍👩‍👧‍👦🏴󠁧󠁢󠁳󠁣󠁴󠁿🏳️‍🌈",
        "W" * 64,
        "مرحبا بالعالم",
        "﷽﷽﷽",
        "a",
    ]
    players = dict(enumerate(names, first))
    await board.call(players)
    await board.report({first + place: 1_000_000 - place for place in range(len(names))})
    title = "%3Ci%3E" + "e%CC%81" * 30
    page = await pages.open(f"/overlay?board={board.name}&player={first}&title={title}", (640, 480))
    rows = [(place + 1, name, 1_000_000 - place) for place, name in enumerate(names)]
    await eventually(lambda: _rows_are(page, rows))

    boxes = await page.evaluate(_BOXES)
    assert all(box["inside"] and box["apart"] and box["flat"] for box in boxes), boxes
    assert len({box["height"] for box in boxes}) == 1
    assert await page.locator("img, #rows b, i:not(.move)").count() == 0
    assert (await page.inner_text("#title")).startswith("<i>e")
    await board.call({940_010: (long := "<u>" + "W" * 60)})
    await board.report({940_010: 1_500_000})
    await eventually(lambda: _says(page, long))
    assert await page.evaluate("document.getElementById('banner').scrollWidth") <= 22 * 15
    assert await page.is_visible("#banner b")


async def _says(page: Page, name: str) -> bool:
    return await page.text_content("#banner bdi") == name


async def test_other_digits_columns_and_directions(pages: Pages, stage: Stage) -> None:
    board = await stage.board()
    await board.report({1: 1234567})
    german = await pages.open(f"/overlay?board={board.name}&lang=de&columns=points,name")
    arabic = await pages.open(f"/overlay?board={board.name}&lang=ar-EG")
    for page in (german, arabic):
        await page.wait_for_selector("li")

    assert await german.inner_text("li .points") == "1.234.567"
    assert not await german.is_visible("li .rank")
    left = "['.points', '.name'].map((part) => document.querySelector(part).getBoundingClientRect().left)"
    points, name = await german.evaluate(left)
    assert points < name
    assert await arabic.inner_text("li .points") == "\u0661\u066c\u0662\u0663\u0664\u066c\u0665\u0666\u0667"
    points, name = await arabic.evaluate(left)
    assert points < name, "read from right to left"
