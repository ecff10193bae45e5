"""The browser's client in Node: its own tests (`tests/js`), its types under `tsc --strict`, its formatting.

Node 20 or later with npm is needed; the tools of `tests/js/package-lock.json` are installed beside the tests.
"""

import re
import subprocess
from pathlib import Path

import pytest

from tests.browser.following import JS

RUN_S = 170
pytestmark = pytest.mark.timeout(2 * RUN_S)


def _run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=JS,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=RUN_S,
        check=False,
    )


@pytest.mark.usefixtures("tools")
def test_the_client_passes_its_tests(node: str) -> None:
    done = _run(node, "--test", "--test-reporter=spec")
    assert done.returncode == 0, done.stdout
    passed = re.search(r"^\S* ?pass (\d+)$", done.stdout, re.MULTILINE)
    assert passed is not None, done.stdout
    assert int(passed[1]) > 100


def test_the_client_and_its_types_agree_under_strict(tools: Path) -> None:
    done = _run(tools / "tsc", "--project", "tsconfig.json")
    assert done.returncode == 0, done.stdout


@pytest.mark.usefixtures("tools")
def test_the_client_is_formatted() -> None:
    done = _run("npm", "run", "--silent", "format")
    assert done.returncode == 0, f"npm --prefix tests/js run format tells which files:\n{done.stdout}"
