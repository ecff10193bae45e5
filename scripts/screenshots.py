"""Takes a picture of every page in every state, for people who look at them, and a sheet of each state.

Starts a stack of its own that plays the demo. `make screenshots ARGS="WORD …"` takes those whose names hold
one of the words; the pictures go to build/screenshots. Neighbours: `scenes.py` is the list.
"""

import asyncio
import html
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from playwright.async_api import Browser, Page, ViewportSize

from scripts.acted import Acted
from scripts.scenes import SCENES, Scene, Size
from server.embedded.process import free_port
from tests.browser.pages import chromium_at
from tests.services import ROOT, chromium_path
from tests.waiting import until
from tests.whole.running import Running

FOLDER = ROOT / "build" / "screenshots"
DEMO_YEAR = 1974
OUTSIDE = ("REDIS_URL", "DATABASE_URL", "KAFKA_BOOTSTRAP_SERVERS")
BACKGROUNDS = {
    "scene": 'url("/static/overlay/scene.svg") center / cover',
    "bright": "linear-gradient(100deg, #fff 20%, #ffe9a8 45%, #fff 60%, #bfe4ff)",
    "busy": "repeating-conic-gradient(#fff 0 12deg, #123 0 21deg, #e33 0 30deg, #fd3 0 39deg, #28c 0 60deg)"
    " 20% 25% / 9vw 9vw",
}
SETTLE_MS = 600


@asynccontextmanager
async def stack() -> AsyncIterator[str]:
    """A whole Rankcast with services of its own that plays the demo; gives its address."""
    with tempfile.TemporaryDirectory(prefix="rankcast-screenshots-") as folder:
        os.chmod(folder, 0o755)  # noqa: PTH101, S103  PostgreSQL may run as another account
        port = str(free_port())
        environment = {name: value for name, value in os.environ.items() if name not in OUTSIDE}
        environment |= {"RANKCAST_DATA_DIR": f"{folder}/data", "RANKCAST_PORT": port}
        environment |= {"RANKCAST_DEMO_SPEED": "100"}
        rankcast = Running(f"http://127.0.0.1:{port}", environment, Path(folder, "rankcast.log"))
        try:
            await rankcast.start()
            yield rankcast.url
            await rankcast.stop()
        finally:
            await rankcast.kill()


async def play_to(url: str, year: int) -> None:
    """Let the demo play up to a year, then at the pace of people."""
    async with httpx.AsyncClient(base_url=url) as http:

        async def reached() -> bool:
            answer = await http.get("/demo")
            return answer.status_code == 200 and int((answer.json()["day"] or "0")[:4]) >= year

        await until(reached, within=240, every=0.2)
        await http.post("/demo", content=json.dumps({"speed": 1}), headers={"origin": url})


async def take(browser: Browser, url: str, scene: Scene, size: Size) -> list[Path]:
    """Open the scene and take its pictures, one a colour scheme; their files."""
    width, height = size
    viewport: ViewportSize = {"width": width, "height": height}
    context = await browser.new_context(viewport=viewport, base_url=url, **dict(scene.context))
    page = await context.new_page()
    acted = Acted() if scene.acted is None else scene.acted()
    if scene.acted:
        await acted.take(page)
    if scene.fake_clock:
        await page.clock.install()
    await _open(page, scene)
    if scene.act:
        await scene.act(page, acted)
    files = []
    for scheme in scene.schemes:
        await page.emulate_media(color_scheme=scheme)
        await page.wait_for_timeout(SETTLE_MS)
        files.append(FOLDER / f"{scene.name}-{width}-{scheme}.png")
        await page.screenshot(path=files[-1], animations="disabled")
    await context.close()
    if scene.keep:
        shutil.copyfile(files[0], ROOT / scene.keep)
    return files


async def _open(page: Page, scene: Scene) -> None:
    if scene.over:
        below = f"body {{ margin: 0; overflow: hidden; background: {BACKGROUNDS[scene.over]} }}"
        frame = f'<iframe id="over" src="{html.escape(scene.path)}"></iframe>'
        style = f"<style>html, body, iframe {{ width: 100%; height: 100%; border: 0 }} {below}</style>"
        await page.route("**/over", lambda route: route.fulfill(body=style + frame, content_type="text/html"))
        await page.goto("/over")
        await page.frame_locator("#over").locator(scene.ready).first.wait_for(state="attached")
    else:
        await page.goto(scene.path)
        await page.wait_for_selector(scene.ready, state="attached")


def _figure(file: Path) -> str:
    return f'<figure><img src="{file.name}"><figcaption>{file.stem}</figcaption></figure>'


async def sheet(browser: Browser, name: str, files: list[Path]) -> None:
    """One picture of several, side by side."""
    style = "body { margin: 8px; display: flex; flex-wrap: wrap; gap: 8px; background: #888 }"
    style += " figure { margin: 0 } img { max-height: 620px; max-width: 980px; display: block }"
    page = await browser.new_page(viewport={"width": 2000, "height": 400})
    index = FOLDER / f"sheet-{name}.html"
    index.write_text(f"<meta charset=utf-8><style>{style}</style>" + "".join(map(_figure, files)))
    await page.goto(index.as_uri())
    await page.screenshot(path=index.with_suffix(".png"), full_page=True)
    await page.close()


async def main(words: list[str]) -> None:
    """Take all pictures whose names hold one of the words."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    chosen = [scene for scene in SCENES if not words or any(word in scene.name for word in words)]
    async with stack() as url, chromium_at(chromium_path()) as browser:
        if any(scene.acted is None for scene in chosen):
            await play_to(url, DEMO_YEAR)
        for scene in chosen:
            files = [file for size in scene.sizes for file in await take(browser, url, scene, size)]
            await sheet(browser, scene.name, files)
            sys.stdout.write(f"{scene.name}: {len(files)}\n")
    sys.stdout.write(f"{FOLDER.relative_to(ROOT)}\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
