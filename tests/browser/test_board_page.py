"""The live board in a real browser, against the whole of Rankcast: what it shows, follows and tells."""

from typing import Any

import pytest
from playwright.async_api import Page, WebSocketRoute

from tests.browser.pages import Pages, Row, board, eventually
from tests.browser.stage import Board, Stage

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(180)]

_NEIGHBOURS = """
() => {
  const rows = [...document.querySelectorAll("#neighbour-rows tr")]
    .map((tr) => [".rank", ".name bdi", ".points b"].map((name) => tr.querySelector(name).textContent));
  return { rows, own: document.querySelector("#neighbour-rows .own bdi")?.textContent };
}
"""
_WATCH_SHIFTS = """
() => {
  window.shifts = []; // what layout moved, and by how much of the screen; what transforms move does not count
  const named = ({ node }) => node?.id || node?.className || node?.nodeName;
  const note = (entries) => {
    for (const { value, sources } of entries) shifts.push([value, ...sources.map(named)]);
  };
  const observer = new PerformanceObserver((list) => note(list.getEntries()));
  observer.observe({ type: "layout-shift", buffered: true });
  window.shiftsSoFar = async () => {
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    note(observer.takeRecords());
    return shifts.splice(0);
  };
}
"""


async def _shows(page: Page, made: Board) -> bool:
    """Whether the page is where REST is; then it has to show the same."""
    told, shown = await made.told(), await board(page)
    if shown.position != told.position:
        return False
    assert [(rank, points) for rank, _, points in shown.rows] == [(row[0], row[2]) for row in told.rows]
    assert [name.removeprefix("Player ") for _, name, _ in shown.rows] == [row[1] for row in told.rows]
    return True


async def _state(page: Page) -> str | None:
    return await page.get_attribute("#page", "data-state")


async def _text(page: Page, part: str) -> str:
    return await page.inner_text(part)


def _number(shown: str) -> int:
    return int(shown.replace(",", ""))


async def _neighbours(page: Page) -> tuple[list[Row], str | None]:
    read: dict[str, Any] = await page.evaluate(_NEIGHBOURS)
    rows = [(_number(rank), name, _number(points)) for rank, name, points in read["rows"]]
    return sorted(rows), read.get("own")


# -- rows


async def test_rows_equal_those_of_rest_at_the_same_position(pages: Pages, stage: Stage) -> None:
    made = await stage.board()
    await made.report({player: 7 * player % 400 for player in [2**63 - 1, -(2**63), *range(1, 150)]})
    page = await pages.open(f"/?board={made.name}")
    await eventually(lambda: _shows(page, made))
    assert len((await board(page)).rows) == 100

    for turn in range(5):
        await made.report({player: 400 + 11 * turn * player % 997 for player in range(turn, 160, 3)})

        await eventually(lambda: _shows(page, made))


async def test_a_posted_result_moves_a_row_glides_it_and_marks_it(pages: Pages, stage: Stage) -> None:
    made = await stage.board()
    await made.report({player: 1000 - player for player in range(1, 9)})
    page = await pages.open(f"/?board={made.name}")
    await eventually(lambda: _shows(page, made))
    await page.evaluate("window.row = document.querySelector('[data-player=\"8\"]')")

    await made.report({8: 2000})

    await eventually(lambda: page.evaluate("row.querySelector('.rank').textContent === '1'"))
    assert await page.evaluate("row.querySelector('.move').dataset.kind") == "up"
    assert await page.evaluate("row.querySelector('.move').getAttribute('aria-label')") == "up 7 places"
    assert await page.locator("#rows .move[data-kind=down]").count() == 7
    await eventually(lambda: _shows(page, made))
    await eventually(
        lambda: page.evaluate("row.getBoundingClientRect().top === rows.getBoundingClientRect().top")
    )
    await eventually(lambda: page.evaluate("row.querySelector('.move').textContent === ''"))


async def test_rows_do_not_glide_for_those_who_want_less_motion(pages: Pages, stage: Stage) -> None:
    made = await stage.board()
    await made.report({player: 1000 - player for player in range(1, 9)})
    page = await pages.open(f"/?board={made.name}", reduced_motion="reduce")
    await eventually(lambda: _shows(page, made))
    await page.evaluate(
        "window.glides = 0; const real = Element.prototype.animate;"
        "Element.prototype.animate = function (...given) { glides++; return real.apply(this, given); }; 0"
    )

    await made.report({8: 2000})

    await eventually(lambda: _shows(page, made))
    assert await page.evaluate("glides") == 0


@pytest.mark.parametrize("size", [(390, 844), (1280, 720)], ids=["phone", "desktop"])
async def test_nothing_that_happens_on_the_board_shifts_the_page(
    pages: Pages, stage: Stage, size: tuple[int, int]
) -> None:
    made = await stage.board()
    await made.report({player: player for player in range(1, 121)})
    page = await pages.open(f"/?board={made.name}&player=100", size)
    await page.evaluate(_WATCH_SHIFTS)
    await eventually(lambda: _shows(page, made))
    await eventually(lambda: _own_is(page, 21, 100))
    while_loading = await page.evaluate("shiftsSoFar()")
    assert sum(value for value, *_ in while_loading) < 0.01, while_loading

    for turn in range(3):
        await made.report({player: 100 + 31 * turn * player % 1009 for player in range(1, 140)})
        await eventually(lambda: _shows(page, made))
    shifts = await page.evaluate("shiftsSoFar()")
    assert sum(value for value, *_ in shifts) < 0.001, shifts  # digits that grow in their own cells


async def test_names_are_text_whatever_they_hold_and_stay_in_their_cells(pages: Pages, stage: Stage) -> None:
    """E12"""
    made = await stage.board()
    names = [
        "<img src=x onerror=alert(1)>",
        "W" * 64,
        "مريم بنت عبد الله",
        "x\u202eabc",
        "a" + "\u0301" * 60,
        "&amp;",
    ]
    players = dict(zip(range(910_001, 910_010), names, strict=False))
    await made.call(players)
    await made.report(dict.fromkeys(players, 2_097_151))
    page = await pages.open(f"/?board={made.name}&player=910001", (390, 844))

    await eventually(lambda: page.locator("#rows tr").count())
    shown = {name for _, name, _ in (await board(page)).rows}
    assert shown == set(names)
    inside = await page.evaluate(
        "[...document.querySelectorAll('#rows bdi')].every((name) => name.getBoundingClientRect().right"
        " <= name.closest('th').getBoundingClientRect().right)"
    )
    assert inside
    assert await page.evaluate("document.documentElement.scrollWidth") == 390


# -- one player


async def test_around_me_follows_a_player_who_falls_out_of_the_best_100(pages: Pages, stage: Stage) -> None:
    made = await stage.board()
    await made.report({player: 1000 - player for player in range(1, 100)})
    page = await pages.open(f"/?board={made.name}")
    await eventually(lambda: _shows(page, made))
    await page.click("[data-player='50'] button")
    await eventually(lambda: _own_is(page, 50, 50))
    assert await page.get_attribute("[data-player='50'] button", "aria-pressed") == "true"

    await made.report({player: 5000 + player for player in range(201, 301)})

    await eventually(lambda: _own_is(page, 150, 50))
    assert await page.locator("#rows [data-player='50']").count() == 0
    rows, _ = await _neighbours(page)
    assert [rank for rank, _, _ in rows] == list(range(145, 156))
    assert "player=50" in page.url

    await page.reload()
    await eventually(lambda: _own_is(page, 150, 50))
    await made.report({50: 9_000})
    await eventually(lambda: _own_is(page, 1, 50))
    await page.click("#leave")
    assert await page.is_hidden("#around")
    assert "player" not in page.url


async def _own_is(page: Page, rank: int, player: int) -> bool:
    _, own = await _neighbours(page)
    return (await _text(page, "#around-rank"), own) == (str(rank), f"Player {player}")


async def test_a_player_is_found_by_name_with_the_keyboard_alone(pages: Pages, stage: Stage) -> None:
    made = await stage.board()
    await made.call({920_001: "Zacharias Board", 920_002: "Zácharia Board"})
    await made.report({920_001: 10, 920_002: 20})
    page = await pages.open(f"/?board={made.name}")
    await eventually(lambda: page.locator("#rows tr").count())

    await page.keyboard.press("/")
    await page.keyboard.type("ZACHARIA")
    await eventually(lambda: page.locator("#found li").count())
    assert await page.locator("#found li bdi").all_text_contents() == ["Zácharia Board", "Zacharias Board"]
    await page.keyboard.press("ArrowDown")
    assert await page.get_attribute("#search", "aria-activedescendant") == "found-1"
    await page.keyboard.press("Enter")

    await eventually(lambda: _text_is(page, "#around-name", "Zacharias Board"))
    await eventually(lambda: _text_is(page, "#around-rank", "2"))


async def _text_is(page: Page, part: str, text: str) -> bool:
    return await _text(page, part) == text


async def test_a_player_without_rank_is_followed_until_there_is_one(pages: Pages, stage: Stage) -> None:
    made = await stage.board()
    await made.report({1: 10})
    page = await pages.open(f"/?board={made.name}&player=9223372036854775807")
    await eventually(lambda: page.is_visible("text=Not ranked yet"))

    await made.report({2**63 - 1: 20})

    await eventually(lambda: _own_is(page, 1, 2**63 - 1))


async def test_a_screen_reader_is_told_of_the_chosen_player_and_of_nothing_else(
    pages: Pages, stage: Stage
) -> None:
    made = await stage.board()
    await made.report({1: 30, 2: 20, 3: 10})
    page = await pages.open(f"/?board={made.name}")
    await eventually(lambda: _shows(page, made))
    regions = "[aria-live], [role=status], [role=alert], [role=log]"
    assert await page.locator(regions).count() == 1
    assert await _text(page, "#announcer") == ""

    await page.click("[data-player='3'] button")
    await eventually(lambda: _text_is(page, "#announcer", "Player 3 is 3rd of 3 with 10 points."))
    await made.report({3: 40})

    said = "Player 3 is 1st of 3 with 40 points, up 2 places."
    await eventually(lambda: _text_is(page, "#announcer", said))


async def test_arrow_keys_lead_through_the_rows_and_the_focus_stays_with_its_player(
    pages: Pages, stage: Stage
) -> None:
    made = await stage.board()
    await made.report({player: 1000 - player for player in range(1, 30)})
    page = await pages.open(f"/?board={made.name}")
    await eventually(lambda: _shows(page, made))
    await page.focus("#rows [tabindex='0']")
    for key in ("ArrowDown", "ArrowDown", "PageDown", "ArrowUp"):
        await page.keyboard.press(key)
    focused = "document.activeElement.closest('tr').dataset.player"
    assert await page.evaluate(focused) == "12"

    await made.report({12: 5_000})
    await eventually(lambda: _shows(page, made))

    assert await page.evaluate(focused) == "12"
    assert await page.locator("#rows [tabindex='0']").count() == 1
    await page.keyboard.press("ArrowDown")
    assert await page.evaluate(focused) == "1"


async def test_who_comes_into_the_best_100_passes_by_in_the_feed(pages: Pages, stage: Stage) -> None:
    made = await stage.board()
    await made.report({player: 1000 - player for player in range(1, 121)})
    page = await pages.open(f"/?board={made.name}")
    await eventually(lambda: _shows(page, made))
    assert await page.locator("#feed li").count() == 0

    await made.report({115: 905})

    await eventually(lambda: page.is_visible("#feed >> text=Player 115 comes in at 96th from 115th"))


# -- states


async def test_an_empty_season_says_so_and_its_first_player_comes_in(pages: Pages, stage: Stage) -> None:
    made = await stage.board()
    page = await pages.open(f"/?board={made.name}")
    await eventually(lambda: page.is_visible("text=Nobody is ranked yet"))
    assert await _state(page) == "empty"

    await made.report({1: 10})

    await eventually(lambda: _shows(page, made))
    assert await page.is_hidden("#message")
    assert await _state(page) == "live"


async def test_a_board_that_is_not_there_is_shown_once_it_is_made(pages: Pages, stage: Stage) -> None:
    made = stage.unmade()
    page = await pages.open(f"/?board={made.name}")
    await eventually(lambda: page.is_visible("text=There is no such board"))
    assert await page.locator("#message-links a").count() >= 1

    await stage.make(made)
    await made.report({1: 10})

    await page.wait_for_selector("#rows tr", timeout=30_000)  # over a page that loads itself anew
    await eventually(lambda: _shows(page, made))
    assert await _text(page, "#season") == "Autumn"


async def _state_is(page: Page, state: str) -> bool:
    return await _state(page) == state


async def test_a_picture_that_may_lag_tells_since_when_and_why(pages: Pages, stage: Stage) -> None:
    made = await stage.board()
    await made.report({1: 30})
    page = await pages.open("/", ready=False)
    sockets: list[WebSocketRoute] = []

    def between(socket: WebSocketRoute) -> None:
        socket.connect_to_server()
        sockets.append(socket)

    await page.route_web_socket("**/ws", between)
    await page.goto(f"/?board={made.name}")
    await eventually(lambda: _shows(page, made))
    since = await page.evaluate("Date.now() - 60_000")
    sockets[0].send(f'{{"type":"stale","board":"{made.name}","reason":"unreachable","since":{since}}}')

    await eventually(lambda: _state_is(page, "stale"))
    notice = await _text(page, "#notice")
    assert "1 min old: the server cannot reach its board store" in notice
    sockets[0].send(f'{{"type":"fresh","board":"{made.name}"}}')
    await eventually(lambda: _state_is(page, "live"))
    assert await page.is_hidden("#notice")


async def test_the_figures_beside_the_rows_are_those_of_the_server(pages: Pages, stage: Stage) -> None:
    made = await stage.board()
    for first in (1, 601):
        await made.report({player: player for player in range(first, first + 600)})
    page = await pages.open(f"/?board={made.name}")

    await eventually(lambda: _text_is(page, "#players", "1,200"))
    version = (await made.told(1)).position or ""
    await eventually(lambda: _text_is(page, "#version", f"{int(version.split('-')[1]):,}"))
    await eventually(lambda: _text_is(page, "#lag", "0"))
    await eventually(lambda: _text_is(page, "#results", "0"))


# -- looks


async def test_the_colours_are_the_systems_until_somebody_chooses(pages: Pages, stage: Stage) -> None:
    made = await stage.board()
    page = await pages.open(f"/?board={made.name}", color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = await page.evaluate(ground)
    assert await page.get_attribute("#theme", "aria-label") == "Use the light colours"

    await page.click("#theme")
    light = await page.evaluate(ground)
    assert light != dark
    await page.reload()

    assert await page.evaluate(ground) == light
    assert await page.get_attribute("#theme", "aria-label") == "Use the dark colours"
