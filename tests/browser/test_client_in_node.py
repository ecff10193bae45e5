"""The browser's client in Node: its own tests (`tests/js`), its types under `tsc --strict`, its formatting.

Node 20 or later with npm is needed; the tools of `tests/js/package-lock.json` are installed beside the tests.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.services import ROOT, missing

JS = ROOT / "tests" / "js"
OLDEST_NODE = 20
INSTALL_S, RUN_S = 150, 170


def _run(*command: str, within_s: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=JS,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=within_s,
        check=False,
    )


@pytest.fixture(scope="module")
def node() -> str:
    """The path of Node; skipped with the reason where it is missing or too old, never in CI."""
    found = shutil.which("node") or missing(f"Node {OLDEST_NODE} or later is not installed")
    version = _run(found, "--version", within_s=10).stdout.strip()
    if int(version.removeprefix("v").split(".")[0]) < OLDEST_NODE:
        missing(f"Node is {version}, {OLDEST_NODE} or later is needed")
    return found


@pytest.fixture(scope="module")
def tools(node: str) -> Path:
    """The folder of the installed tools, as the lock names them."""
    place, lock = JS / "node_modules", JS / "package-lock.json"
    installed = place / ".package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < lock.stat().st_mtime:
        npm = shutil.which("npm") or missing("npm is not installed")
        done = _run(npm, "ci", "--no-audit", "--no-fund", within_s=INSTALL_S)
        if done.returncode:
            missing(f"npm cannot install the tools of {lock}:\n{done.stdout}")
        installed.touch()
    return place / ".bin"


@pytest.mark.timeout(INSTALL_S + RUN_S)
def test_the_client_passes_its_tests(node: str, tools: Path) -> None:
    done = _run(node, "--test", "--test-reporter=spec", within_s=RUN_S)
    assert done.returncode == 0, done.stdout
    passed = re.search(r"^\S* ?pass (\d+)$", done.stdout, re.MULTILINE)
    assert passed is not None, done.stdout
    assert int(passed[1]) > 100


def test_the_client_and_its_types_agree_under_strict(tools: Path) -> None:
    done = _run(str(tools / "tsc"), "--project", "tsconfig.json", within_s=RUN_S)
    assert done.returncode == 0, done.stdout


def test_the_client_is_formatted(tools: Path) -> None:
    done = _run("npm", "run", "--silent", "format", within_s=RUN_S)
    assert done.returncode == 0, f"npm --prefix tests/js run format tells which files:\n{done.stdout}"
