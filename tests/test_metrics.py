"""Metrics: none that nobody moves, none without a word on what it is."""

import re

import pytest

from server.metrics import Metrics
from tests.services import ROOT

CODE = "".join(path.read_text() for path in (ROOT / "server").rglob("*.py") if path.name != "metrics.py")
NAMES = sorted(name for name in vars(Metrics()) if name != "registry")


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_is_moved_somewhere(name: str) -> None:
    assert re.search(rf"\b(_?metrics|gauges)\.{name}\b", CODE)


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_says_what_it_is_under_the_projects_name(name: str) -> None:
    metric = getattr(Metrics(), name)

    assert metric._name.startswith("rankcast_")
    assert len(metric._documentation) > 8
