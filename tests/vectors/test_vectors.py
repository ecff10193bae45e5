"""The committed vectors are what the server's core says today, and the core's own law holds on them."""

import json
from typing import Any

import pytest

from server.core.diff import Diff, Placed, apply
from server.core.rows import Row, checksum
from tests.vectors import make

FILES = make.vectors()
Case = dict[str, Any]


def cases(name: str) -> list[Case]:
    loaded: list[Case] = json.loads((make.FOLDER / name).read_text())
    return loaded


def row_of(wire: list[Any]) -> Row:
    return Row(int(wire[0]), wire[1], wire[2])


@pytest.mark.parametrize("name", FILES)
def test_the_committed_vectors_are_those_that_the_script_makes(name: str) -> None:
    remedy = "run `python -m tests.vectors.make` and the client's tests"
    assert (make.FOLDER / name).read_text() == make.text_of(FILES[name]), remedy


@pytest.mark.parametrize("case", cases("top.json"), ids=lambda case: f"top {case['limit']}")
def test_diffs_lead_from_rows_to_rows(case: Case) -> None:
    rows: list[Row] = []
    for frame, after in zip(case["frames"], case["after"], strict=True):
        if frame["type"] == "snapshot":
            rows = [row_of(row) for row in frame["rows"]]
        else:
            put = [Placed(row[3], row_of(row)) for row in frame["set"]]
            rows = apply(rows, Diff([int(player) for player in frame["gone"]], put))
        assert rows == [row_of(row) for row in after["rows"]]
        assert checksum(rows) == frame["crc"]


def test_every_kind_of_step_is_among_the_vectors() -> None:
    diffs = [frame for case in cases("top.json") for frame in case["frames"] if frame["type"] == "diff"]
    arounds = [frame for case in cases("around.json") for frame in case["frames"]]
    assert any(diff["gone"] for diff in diffs)
    assert any(diff["set"] for diff in diffs)
    assert any(not diff["gone"] and not diff["set"] for diff in diffs)
    assert any(diff["names"] for diff in diffs)
    assert any("rows" not in frame for frame in arounds)
    assert any(frame["rank"] is None for frame in arounds)
