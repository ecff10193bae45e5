"""What the live board costs a browser: frames a second while rows glide, and what a frame is spent on.

Owns a Rankcast whose board is changed by hand (100 rows, a new picture each tenth of a second, some players
of it changed) and a headless Chromium without a graphics card that shows it. Everything between is what
viewers get: hub, frames, client, page. Frames and long tasks are counted in the page; the work of a frame is
told by the browser in CPU time: other work on the machine costs frames, but not this figure. A trace of each
screen stays in build/.
Neighbours: `fanout.py` has the board; `python -m bench.page` runs it alone.
"""

import asyncio
import contextlib
import os
import re
import shutil
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from playwright.async_api import Browser, CDPSession, Page, async_playwright
from redis.asyncio import Redis
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from bench.report import Say, Table, progress, spread
from bench.senders import BOARD, CHANGES, Board
from server.live.endpoint import serve_socket
from server.live.handshake import RankcastHttp, RankcastProtocol
from server.live.hub import Hub
from server.live.names import Names
from server.metrics import Metrics
from server.settings import Settings
from server.web import assets
from server.web.routes import pages

TICK_S, SECONDS, RUNS = 0.1, 10.0, 3
SETTLE_S, TRACE_S = 2.0, 1.0
TRACES = Path(__file__).resolve().parent.parent / "build"
PLAYER = 10**6 + 7
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
HEADLESS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline"]
# Where a frame's time goes, by the browser's own accounts.
WORK = {"script": ("ScriptDuration",), "style and layout": ("RecalcStyleDuration", "LayoutDuration")}
KINDS = (*WORK, "the rest")
SCREENS = {
    "desktop, 1280 px": (1280, 900, f"/?board={BOARD}"),
    "the same, a player followed": (1280, 900, f"/?board={BOARD}&player={PLAYER}"),
    "projector, 1920 px": (1920, 1080, f"/?board={BOARD}"),
    "phone, 390 px": (390, 844, f"/?board={BOARD}"),
}
_COUNT = """
() => {
  window.seen = { frames: [], shift: 0, long: 0 };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.seen.shift += entry.value;
  }).observe({ type: "layout-shift" });
  new PerformanceObserver((list) => {
    window.seen.long += list.getEntries().length;
  }).observe({ type: "longtask" });
  const look = (now) => {
    window.seen.frames.push(now);
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
"""


class Seen(NamedTuple):
    """One run: frames a second, the longest time between two, tasks above 50 ms a second, layout shift, and
    the CPU milliseconds that the page's main thread spends on a frame."""

    fps: float
    longest_ms: float
    long_tasks: float
    shift: float
    work_ms: dict[str, float]


class _NameStore:
    """Everybody has a name, some a long one."""

    async def names(self, ids: list[int]) -> dict[int, str]:
        return {player: f"Player {player % 997}" + " of the long names" * (player % 5 == 0) for player in ids}


@contextlib.asynccontextmanager
async def stage() -> AsyncIterator[str]:
    """A page and a board that changes all the time; gives the address."""
    settings, metrics = Settings(), Metrics()
    board = Board(metrics)
    hub = Hub(settings, metrics, board, names := Names(_NameStore(), Redis(port=1), settings, metrics))

    async def socket(websocket: WebSocket) -> None:
        await serve_socket(websocket, hub)

    season = board.mirror.season.definition() | {"board": BOARD}
    app = Starlette(
        routes=[
            *pages.routes(assets.read_all(assets.folder())),
            Route("/seasons", lambda _: JSONResponse({"seasons": [season], "demo": None})),
            Route("/seasons/12/leaderboard/status", lambda _: JSONResponse(_status(board))),
            WebSocketRoute("/ws", socket),
        ]
    )
    config = uvicorn.Config(
        app, port=0, lifespan="off", log_config=None, access_log=False, ws=RankcastProtocol, http=RankcastHttp
    )
    server = uvicorn.Server(config)
    stop = asyncio.Event()
    work = [hub.run(stop), names.run(stop), server.serve(), _change(board, stop)]
    running = [asyncio.create_task(one) for one in work]
    while not server.started:  # noqa: ASYNC110  uvicorn has no event for it
        await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    stop.set()
    server.should_exit = server.force_exit = True
    await asyncio.gather(*running)


def _status(board: Board) -> dict[str, object]:
    return {
        "epoch": board.mirror.epoch,
        "version": board.mirror.version,
        "total": board.mirror.total,
        "resultsPerSecond": 180.0,
        "lagRecords": 0,
        "refreshMs": 2000,
    }


async def _change(board: Board, stop: asyncio.Event) -> None:
    version = board.mirror.version
    while not stop.is_set():
        version += 1
        board.change(version)
        await asyncio.sleep(TICK_S)


async def watch(browser: Browser, url: str, name: str, seconds: float) -> Seen:
    """Show the page for so long; a trace of a moment after that is kept."""
    width, height, path = SCREENS[name]
    context = await browser.new_context(viewport={"width": width, "height": height})
    page = await context.new_page()
    await page.goto(url + path)
    await page.wait_for_selector("#rows tr:nth-child(100)")
    await page.wait_for_timeout(SETTLE_S * 1000)
    accounts = await context.new_cdp_session(page)
    await accounts.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = await _spent(accounts)
    seen = await _count(page, seconds)
    after = await _spent(accounts)
    await _trace(browser, page, name)
    await context.close()
    gaps = [later - sooner for sooner, later in pairwise(seen["frames"])]
    lasted = sum(gaps) / 1000
    work = {kind: (after[kind] - before[kind]) / len(gaps) for kind in after}
    return Seen(len(gaps) / lasted, max(gaps), seen["long"] / lasted, seen["shift"], work)


async def _count(page: Page, seconds: float) -> dict[str, Any]:
    await page.evaluate(_COUNT)
    await page.wait_for_timeout(seconds * 1000)
    seen: dict[str, Any] = await page.evaluate("window.seen")
    return seen


async def _spent(accounts: CDPSession) -> dict[str, float]:
    """CPU milliseconds of the page's main thread so far, by kind of work."""
    told = (await accounts.send("Performance.getMetrics"))["metrics"]
    seconds = {metric["name"]: metric["value"] for metric in told}
    spent = {kind: 1000 * sum(seconds[name] for name in names) for kind, names in WORK.items()}
    return {**spent, "the rest": 1000 * seconds["TaskDuration"] - sum(spent.values())}


async def _trace(browser: Browser, page: Page, name: str) -> None:
    """What happens in a moment, for a browser's performance panel."""
    file = TRACES / f"page-{re.sub(r'[^a-z0-9]+', '-', name)}.json"
    await browser.start_tracing(page=page, path=file, categories=CATEGORIES)
    await page.wait_for_timeout(TRACE_S * 1000)
    await browser.stop_tracing()


async def measure(chromium: str, quick: bool, say: Say) -> Table:
    """Every screen, some runs each."""
    table = Table(
        f"The live board: 100 rows, {1 / TICK_S:.0f} pictures a second, {CHANGES} players changed in each",
        (
            "",
            "frames a second",
            "longest frame",
            "long tasks a second",
            "layout shift",
            *WORK,
            "all, CPU a frame",
        ),
    )
    async with stage() as url, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=HEADLESS)
        for name in SCREENS:
            say(name)
            seconds = 4.0 if quick else SECONDS
            runs = [await watch(browser, url, name, seconds) for _ in range(1 if quick else RUNS)]
            table.add(name, *_cells(runs))
        await browser.close()
    table.notes.append(
        "Headless Chromium without a graphics card, on the same machine as the server; load average "
        f"{os.getloadavg()[0]:.1f}."
    )
    return table


def _cells(runs: list[Seen]) -> list[str]:
    return [
        spread([run.fps for run in runs], digits=1),
        spread([run.longest_ms for run in runs], " ms"),
        spread([run.long_tasks for run in runs], digits=1),
        spread([run.shift for run in runs], digits=3),
        *(spread([run.work_ms[kind] for run in runs], " ms", 1) for kind in KINDS),
        spread([sum(run.work_ms.values()) for run in runs], " ms", 1),
    ]


def run(quick: bool, say: Say) -> list[Table]:
    """The table; none where there is no Chromium."""
    named = os.environ.get("CHROMIUM")
    chromium = named or next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if chromium is None:
        say("left out: there is no Chromium (CHROMIUM names one)")
        return []
    return [asyncio.run(measure(chromium, quick, say))]


if __name__ == "__main__":
    for table in run(False, progress("page")):
        print(table.markdown())
