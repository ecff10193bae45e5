"""What the client's tests need: Node, and the tools that are installed beside its tests."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.browser.following import JS
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
    installed = place / ".package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < lock.stat().st_mtime:
        npm = shutil.which("npm") or missing("npm is not installed")
        command = [npm, "ci", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=JS, capture_output=True, text=True, timeout=INSTALL_S, check=False)
        if done.returncode:
            missing(f"npm cannot install the tools of {lock}:\n{done.stderr}")
        installed.touch()
    return place / ".bin"
