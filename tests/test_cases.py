"""The table of known faults names every case once, and only tests and files that there are."""

import ast
import re
from itertools import chain

from tests.services import ROOT

TABLE = (ROOT / "docs/cases.md").read_text()
LAST = {"A": 13, "B": 10, "C": 6, "D": 15, "E": 12, "F": 13, "G": 7}
NOT_A_CASE = {"A8", "A12", "B6", "D9", "E8", "F3", "F8", "G1"}  # numbers that nobody gave


def test_every_case_has_its_row() -> None:
    numbers = re.findall(r"^\| ([A-G]\d+) \|", TABLE, re.MULTILINE)
    all_of = list(
        chain.from_iterable([f"{group}{at}" for at in range(1, last + 1)] for group, last in LAST.items())
    )

    assert numbers == [number for number in all_of if number not in NOT_A_CASE]


def test_every_test_that_the_table_names_is_there() -> None:
    for line in TABLE.splitlines():
        for part in re.split(r"; ", line):
            found = re.search(r"`([\w./]+\.(?:py|js))`(?:: (.*?))?(?: \||$)", part)
            if found is None:
                continue
            text = (ROOT / "tests" / found[1]).read_text()
            if found[2]:
                names = {node.name for node in ast.walk(ast.parse(text)) if hasattr(node, "name")}
                missing = set(re.findall(r"`(test_\w+)`", found[2])) - names
                assert not missing, f"{found[1]}: {missing}"
