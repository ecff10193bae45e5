"""What these tests need: Node and the tools beside its tests; a browser and a stage for the pages.

Browser and stage live as long as the run, in the loop of the session: tests that use them run there too.
"""

import fcntl
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from server.embedded.postgres import Postgres
from server.embedded.tansu import Tansu
from tests.browser.following import JS
from tests.browser.pages import Pages, chromium_at
from tests.browser.stage import Stage, stage_at
from tests.browser.wire import Wire, wire
from tests.services import missing

OLDEST_NODE = 20
INSTALL_S = 150


@pytest.fixture(scope="session")
def node() -> str:
    """The path of Node; skipped with the reason where it is missing or too old, never in CI."""
    found = shutil.which("node") or missing(f"Node {OLDEST_NODE} or later is not installed")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.removeprefix("v").split(".")[0]) < OLDEST_NODE:
        missing(f"Node is {version}, {OLDEST_NODE} or later is needed")
    return found


@pytest.fixture(scope="session")
def tools(node: str) -> Path:
    """The folder of the installed tools, as the lock names them; skipped where they cannot be had."""
    place, lock = JS / "node_modules", JS / "package-lock.json"
    with (JS / "package.json").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # another process of this run may be at it
        installed = place / ".package-lock.json"
        if not installed.is_file() or installed.stat().st_mtime < lock.stat().st_mtime:
            _install_tools(lock)
            installed.touch()
    return place / ".bin"


def _install_tools(lock: Path) -> None:
    npm = shutil.which("npm") or missing("npm is not installed")
    command = [npm, "ci", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=JS, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    if done.returncode:
        missing(f"npm cannot install the tools of {lock}:\n{done.stderr}")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(chromium: str) -> AsyncIterator[Browser]:
    """One Chromium for the run."""
    async with chromium_at(chromium) as running:
        yield running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def stage(services_folder: Path, postgres: Postgres, kafka: Tansu) -> AsyncIterator[Stage]:
    """One Rankcast for the pages' tests; each takes a board of its own."""
    place = services_folder / f"pages-{uuid4().hex}"  # tests of another loop in between make it anew
    place.mkdir()
    async with stage_at(place, postgres.address, kafka.address) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def line(stage: Stage) -> AsyncIterator[Wire]:
    """A way to the stage that a test may spoil."""
    async with wire(int(stage.rankcast.url.rsplit(":", 1)[1])) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def pages(browser: Browser, stage: Stage) -> AsyncIterator[Pages]:
    """Opens pages; what their consoles complain about, the policy too, fails the test."""
    made = Pages(browser, stage.rankcast.url)
    yield made
    await made.close()
    assert made.unforgiven() == []
