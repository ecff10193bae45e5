"""The command line in an empty folder, and a stack without the demo."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import START_SECONDS, Cli, Serving
from tests.waiting import until


@pytest.fixture
def cli(place: Path) -> Cli:
    """The command line in an empty folder."""
    return Cli(place)


@pytest.fixture(scope="module")
def stack(services_folder: Path) -> Iterator[tuple[Cli, Serving]]:
    """A stack without the demo that all tests of this file share."""
    folder = services_folder / "cli"
    folder.mkdir()
    folder.chmod(0o755)
    cli = Cli(folder)
    serving = cli.start(RANKCAST_DEMO="false")
    asyncio.run(until(serving.listening, within=START_SECONDS))
    yield cli, serving
    assert serving.end() == 0, serving.log.read_text()
