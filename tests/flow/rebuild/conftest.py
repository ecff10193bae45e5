"""A season in PostgreSQL and who rebuilds its board, three players at a time."""

import pytest

from server.archive.store import Archive
from server.board.store import BoardStore
from server.core.season import Season
from server.keeper.rebuild import Rebuilder
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.boards import make_season
from tests.flow.rebuild.common import make_rebuilder


@pytest.fixture
def settings() -> Settings:
    return Settings(rebuild_chunk=3)


@pytest.fixture
def rebuilder(settings: Settings, metrics: Metrics, archive: Archive, boards: BoardStore) -> Rebuilder:
    return make_rebuilder(settings, archive, boards, metrics)


@pytest.fixture
async def season(archive: Archive) -> Season:
    """A season of operator best that stands in PostgreSQL."""
    season = make_season("best")
    await archive.create_season(season)
    return season
