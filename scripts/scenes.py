"""Every state of the pages that a picture is taken of: what is opened, who acts in it, and what happens then.

Neighbours: `acted.py` acts, `screenshots.py` takes the pictures.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from playwright.async_api import Page

from scripts.acted import DAY_MS, NOW_MS, SEASON, Acted, handles, rows_of
from server.core.rows import Row

Size = tuple[int, int]
Act = Callable[[Page, Acted], Awaitable[None]]

PHONE, DESKTOP, PROJECTOR = (390, 844), (1280, 900), (1920, 1080)
SCREENS = (PHONE, DESKTOP, PROJECTOR)
UHD = (3840, 2160)
BOARD = f"/?board=s{SEASON}"
FOLLOWED = 7_000_000
RADIUS = 5
MOST = 2_097_151
ROWS, OVERLAY_ROWS = "#rows tr", "#rows li"


@dataclass(frozen=True)
class Scene:
    """One state; `ready` is what has to be on the page before the picture is taken."""

    name: str
    path: str
    ready: str = ROWS
    acted: Callable[[], Acted] | None = None
    act: Act | None = None
    sizes: Sequence[Size] = SCREENS
    schemes: Sequence[Literal["dark", "light"]] = ("dark", "light")
    over: str = ""  # the background below an overlay
    fake_clock: bool = False  # `act` lets the browser's clock run
    context: tuple[tuple[str, Any], ...] = ()
    keep: str = ""  # also a picture of the README: its file


# -- what happens


async def _play(page: Page, acted: Acted) -> None:
    for turn in range(4):
        acted.move({player: acted.rows[player % 7].points + 40 * player for player in (5, 9 + turn, 14, 23)})
        acted.rise(31 + turn, 112 + 3 * turn, 70 + turn)
        await page.wait_for_timeout(800)


async def _follow(page: Page, acted: Acted) -> None:
    """Minutes on the browser's clock, each second another rank."""
    phone = page.viewport_size is not None and page.viewport_size["width"] < 960
    rank = 3_456_789
    for turn in range(120):
        rank += (7 * turn) % 23 * 31 - 300
        acted.stand(FOLLOWED, rank, 2 if phone else RADIUS)
        if turn % 20 == 0:
            acted.rise(31 + turn % 40, 112 + turn, 70 + turn % 20)
        await page.clock.run_for(2_000)


async def _lag(page: Page, acted: Acted) -> None:
    acted.lag(75)
    await page.wait_for_selector("[data-state=stale]")


async def _close(page: Page, acted: Acted) -> None:
    acted.close_season()
    await page.wait_for_selector("[data-state=ended]")


async def _away(page: Page, acted: Acted) -> None:
    await acted.go_away()
    await page.wait_for_selector("[data-state=away]")


async def _search(page: Page, _acted: Acted) -> None:
    await page.click("#search")
    await page.keyboard.type("ke")
    await page.wait_for_selector("#found li")


async def _scroll(page: Page, _acted: Acted) -> None:
    await page.evaluate("scrollTo(0, 2600)")
    await page.wait_for_timeout(300)


async def _tab(page: Page, _acted: Acted) -> None:
    await page.focus("#rows [tabindex='0']")
    await page.keyboard.press("ArrowDown")


async def _banner(page: Page, acted: Acted) -> None:
    for player, before in ((31, 112), (45, 140), (52, None)):
        acted.rise(player, before, player)
    acted.move({8: acted.rows[2].points + 10})
    await page.wait_for_timeout(900)


# -- who acts


def _names() -> Acted:
    rows = rows_of(40)
    told = dict(handles(rows))
    told[2] = "The Grand Admiral of the Ninth Fleet and Keeper of the Old Harbour"
    told[3] = "مريم بنت عبد الله"
    told[4] = "W" * 64
    told[5] = "שחקן מספר אחת"
    told[6] = "<b>not bold</b> &amp; fine"
    told[8] = "👩‍🚀 Zed 🏴‍☠️"
    told[9] = "a" + "\u0301" * 40
    del told[10], told[12]
    return Acted(rows=rows, names=told)


def _nameless() -> Acted:
    ids = [2**63 - 1, 42, -(2**63), 7, 0, 9_007_199_254_740_993]
    rows = [Row(player, 9_000 - 13 * at, NOW_MS) for at, player in enumerate(ids)]
    return Acted(rows=rows, names={}, total=len(rows), results=0.4)


def _ceiling() -> Acted:
    rows = [Row(player, MOST, NOW_MS - 60_000 * (100 - player)) for player in range(1, 101)]
    return Acted(rows=rows, total=10_000_000, version=12_345_678)


def _empty() -> Acted:
    return Acted(rows=[], total=0, results=0)


def _one() -> Acted:
    return Acted(rows=rows_of(1), total=1, results=0)


def _over() -> Acted:
    return Acted(ends_ms=NOW_MS - 9 * DAY_MS, results=0)


def _million() -> Acted:
    return Acted(total=10_000_000, own_rank=3_456_789)


# -- the board's page

LIVE = (
    Scene("board-live", BOARD, acted=Acted, act=_play),
    Scene("board-followed", f"{BOARD}&player={FOLLOWED}", acted=_million, act=_follow, fake_clock=True),
    Scene("board-followed-in-sight", f"{BOARD}&player=7", acted=Acted, act=_play),
    Scene("board-pinned", f"{BOARD}&player=7", acted=Acted, act=_scroll),
    Scene("board-unranked", f"{BOARD}&player=99999", acted=Acted),
    Scene("board-search", BOARD, acted=Acted, act=_search),
    Scene("board-focus", BOARD, acted=Acted, act=_tab, sizes=(DESKTOP,)),
    Scene("board-forced-colours", f"{BOARD}&player=7", acted=Acted, act=_play, sizes=(DESKTOP,),
          context=(("forced_colors", "active"),)),
    Scene("board-names", BOARD, acted=_names),
    Scene("board-nameless", BOARD, acted=_nameless),
    Scene("board-ceiling", f"{BOARD}&player=50", acted=_ceiling),
    Scene("board-one", BOARD, acted=_one),
)  # fmt: skip
STATES = (
    Scene("board-connecting", BOARD, "#message", lambda: Acted(silent=True)),
    Scene("board-empty", BOARD, "[data-state=empty]", _empty),
    Scene("board-unknown", BOARD + "0", "[data-state=unknown]", lambda: Acted(refuses=True)),
    Scene("board-closed", BOARD, acted=_over, act=_close),
    Scene("board-stale", BOARD, acted=Acted, act=_lag),
    Scene("board-away", BOARD, acted=Acted, act=_away),
)
# -- the demo, as it is played

DEMO = (
    Scene("demo", "/"),
    Scene("demo-followed", "/?player=160"),
)
# -- the README


async def _look_up(page: Page, _acted: Acted) -> None:
    """Follow a team for some seconds of the demo, at a pace that moves the board."""
    await page.click("[data-speed='5']")
    await page.click("#search")
    await page.keyboard.type("Zambia")
    await page.wait_for_selector("#found li")
    await page.keyboard.press("Enter")
    await page.wait_for_timeout(24_000)
    await page.wait_for_function(r"/\d/.test(document.getElementById('results').textContent)")


async def _wait(page: Page, _acted: Acted) -> None:
    await page.frame_locator("#over").locator("#banner.shown").wait_for(timeout=120_000)


README = (
    Scene(
        "readme-overlay",
        f"/overlay?board=s1&title={quote('Goals since 1872')}&player=7&limit=7",
        OVERLAY_ROWS,
        act=_wait,
        sizes=((864, 486),),
        schemes=("dark",),
        over="scene",
        keep="docs/overlay.png",
    ),
    Scene("readme-board", "/", act=_look_up, sizes=((1280, 860),), schemes=("dark",), keep="docs/board.png"),
)
# -- the overlay


def _overlay(name: str, query: str, *, act: Act | None = None, over: str = "scene", **more: Any) -> Scene:
    path = f"/overlay?board=s{SEASON}&{query}"
    more = {"sizes": (PROJECTOR,), "schemes": ("dark",), "ready": OVERLAY_ROWS, "acted": Acted, **more}
    return Scene(f"overlay-{name}", path, act=act, over=over, **more)


TITLE = f"title={quote('Autumn Ladder')}"
OVERLAYS = (
    _overlay("dark", TITLE),
    _overlay("light", f"theme=light&{TITLE}"),
    _overlay("clear", f"theme=clear&{TITLE}"),
    _overlay("clear-busy", f"theme=clear&{TITLE}&player=4", over="busy"),
    _overlay("clear-bright", f"theme=clear&{TITLE}&player=4", over="bright", act=_banner),
    _overlay("dark-bright", f"{TITLE}&player=4", over="bright", act=_banner),
    _overlay("three", "limit=3"),
    _overlay("player-below", f"{TITLE}&player={FOLLOWED}&limit=5", acted=_million),
    _overlay("banner", f"{TITLE}&player=4", act=_banner),
    _overlay("banner-light", f"{TITLE}&player=4&theme=light", act=_banner),
    _overlay("rank-name", "columns=rank,name&limit=5"),
    _overlay("name-points", f"columns=name,points&limit=5&{TITLE}"),
    _overlay("points-name", "columns=points,name&limit=5"),
    _overlay("name", "columns=name&limit=5"),
    _overlay("half", f"scale=0.5&{TITLE}&player=4", act=_banner),
    _overlay("larger", f"scale=1.5&{TITLE}", act=_banner),
    _overlay("double", f"scale=2&{TITLE}&player={FOLLOWED}", acted=_million),
    _overlay("ceiling", f"{TITLE}&player=50", acted=_ceiling),
    _overlay("names", TITLE, acted=_names),
    _overlay("arabic", "lang=ar-EG&player=4", act=_banner),
    _overlay("waiting", TITLE, acted=_empty, ready="#message:not([hidden])"),
    _overlay("unknown", TITLE, acted=lambda: Acted(refuses=True), ready="#message:not([hidden])"),
    _overlay("4k", f"{TITLE}&player={FOLLOWED}&theme=clear", acted=_million, act=_banner, sizes=(UHD,)),
    _overlay("small", f"player={FOLLOWED}", acted=_million, act=_banner, sizes=((400, 200),)),
    _overlay("720p", f"{TITLE}&player=4", act=_banner, sizes=((1280, 720),)),
)
PAPERS = (
    Scene("setup", "/overlay/setup", "#preview"),
    Scene("docs", "/docs", ".call"),
)
SCENES: tuple[Scene, ...] = (*README, *DEMO, *LIVE, *STATES, *OVERLAYS, *PAPERS)
