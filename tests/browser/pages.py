"""Pages in a real Chromium: opened with a watch on their complaints, and read as people see them."""

import contextlib
import struct
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Browser, ConsoleMessage, FloatRect, Page, ViewportSize, async_playwright

from tests.waiting import until

Row = tuple[int, str, int]

HEADLESS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# What browsers say of a server that is away: right in a test that takes it away, and nowhere else.
AWAY = ("WebSocket connection to", "Failed to load resource")

_TELL_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} forbids ${event.blockedURI} (${event.sourceFile})`));
"""
_BOARD = """
() => {
  const rows = [...document.querySelectorAll("#rows tr")]
    .map((tr) => [".rank", ".name bdi", ".points b"].map((name) => tr.querySelector(name).textContent));
  return { rows, position: document.getElementById("board").dataset.position };
}
"""
_OVERLAY = """
() => {
  const place = (li) => Number(/translateY\\(([-\\d.]+)%\\)/.exec(li.style.transform)?.[1]);
  const rows = [...document.querySelectorAll("#rows li:not(.leaving)")]
    .sort((one, other) => place(one) - place(other))
    .map((li) => [".rank", ".name bdi", ".points"].map((name) => li.querySelector(name).textContent));
  return { rows, position: document.getElementById("overlay").dataset.position };
}
"""


async def eventually(condition: Callable[[], object | Awaitable[object]]) -> None:
    """Wait until `condition()` is true, with the patience that a browser on a busy machine needs."""
    await until(condition, within=30, every=0.05)


@contextlib.asynccontextmanager
async def chromium_at(path: str) -> AsyncIterator[Browser]:
    """A running Chromium."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=HEADLESS)
        yield browser
        await browser.close()


@dataclass
class Pages:
    """Opens pages of one Rankcast; `complaints` are the errors and warnings on their consoles."""

    browser: Browser
    url: str
    complaints: list[str] = field(default_factory=list)
    forgiven: tuple[str, ...] = ()

    async def open(
        self,
        path: str,
        size: tuple[int, int] = (1280, 720),
        *,
        base: str | None = None,
        ready: bool = True,
        beside: Page | None = None,
        **context: Any,
    ) -> Page:
        """Open a page in a context of its own, or as another tab `beside` one.

        `base`: another way to the server. `ready`: load it now.
        """
        viewport: ViewportSize = {"width": size[0], "height": size[1]}
        options = {"viewport": viewport, "base_url": base or self.url, **context}
        made = beside.context if beside else await self.browser.new_context(**options)
        page = await made.new_page()
        await page.add_init_script(_TELL_VIOLATIONS)
        page.on("console", self._listen)
        page.on("pageerror", lambda error: self.complaints.append(f"{path}: {error}"))
        if ready:
            await page.goto(path)
        return page

    def forgive(self, *beginnings: str) -> None:
        """Complaints that begin so belong to what the test does."""
        self.forgiven += beginnings

    def unforgiven(self) -> list[str]:
        """What nobody has forgiven: it must be nothing."""
        return [said for said in self.complaints if not said.startswith(self.forgiven or ("\0",))]

    async def close(self) -> None:
        """Close all pages."""
        for context in self.browser.contexts:
            await context.close()

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)


@dataclass(frozen=True)
class Shown:
    """Rows from top to bottom (rank, name, points), and the board's position that they are of."""

    rows: list[Row]
    position: str | None


Reader = Callable[[Page], Awaitable[Shown]]


async def overlay(page: Page) -> Shown:
    """What the overlay shows at this moment."""
    return _shown(await page.evaluate(_OVERLAY))


async def board(page: Page) -> Shown:
    """What the live board's page shows at this moment."""
    return _shown(await page.evaluate(_BOARD))


def _shown(read: Any) -> Shown:
    rows = [(_number(rank), name, _number(points)) for rank, name, points in read["rows"]]
    return Shown(rows, read.get("position"))


def _number(text: str) -> int:
    return int(text.replace(",", ""))


async def pixel(page: Page, x: int, y: int) -> tuple[int, int, int, int]:
    """Red, green, blue, alpha of one pixel as a compositor gets it: without a ground of the browser's own."""
    clip: FloatRect = {"x": x, "y": y, "width": 1, "height": 1}
    png = await page.screenshot(clip=clip, omit_background=True)
    return _first_pixel(png)


def _first_pixel(png: bytes) -> tuple[int, int, int, int]:
    """A picture's first pixel, which no PNG filter changes; its lines are four bytes a pixel."""
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        if kind == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += length + 12
    red, green, blue, alpha = zlib.decompress(data)[1:5]
    return red, green, blue, alpha
