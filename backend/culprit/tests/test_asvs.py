"""docs/asvs.md has every control group of the standard, an existing test for each that applies, and right totals."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from culprit.launcher.paths import ROOT
from culprit.tests.test_threat_model import TEST, list_missing_tests

PAGE = ROOT / "docs" / "asvs.md"
#: Number of the last group of each chapter of ASVS 4.0.3.
LAST_GROUPS = {1: 14, 2: 10, 3: 7, 4: 3, 5: 5, 6: 4, 7: 4, 8: 3, 9: 2, 10: 3, 11: 1, 12: 6, 13: 4, 14: 5}
#: Groups without requirements at level 2.
WITHOUT_LEVEL_2 = {"V1.3", "V1.13", "V10.1"}
STATES = ("met", "partly", "not applicable")
ROW = re.compile(r"^\| (V\d+\.\d+) \|(.*)\|$", re.MULTILINE)


@pytest.fixture(scope="module")
def table() -> dict[str, list[str]]:
    """Return the cells of each group: subject, state, how, test, gap."""
    matches = ROW.findall(PAGE.read_text("utf-8"))
    cells = {group: [cell.strip() for cell in row.split("|")] for group, row in matches}
    assert len(cells) == len(matches)
    assert {len(row) for row in cells.values()} == {5}
    return cells


def test_every_group_has_a_row(table: dict[str, list[str]]) -> None:
    groups = {
        f"V{chapter}.{number}" for chapter, last in LAST_GROUPS.items() for number in range(1, last + 1)
    }
    assert set(table) == groups - WITHOUT_LEVEL_2


def test_every_state_is_supported(table: dict[str, list[str]]) -> None:
    assert {cells[1] for cells in table.values()} <= set(STATES)
    applicable = {group: cells for group, cells in table.items() if cells[1] != "not applicable"}
    assert [group for group, cells in applicable.items() if not TEST.search(cells[3])] == []
    assert [group for group, cells in applicable.items() if cells[1] == "partly" and not cells[4]] == []
    assert list_missing_tests(PAGE.read_text("utf-8")) == []


def test_totals_are_those_of_the_table(table: dict[str, list[str]]) -> None:
    counts = Counter(cells[1] for cells in table.values())
    met, partly, absent = (counts[state] for state in STATES)
    line = f"Of {len(table)} groups {met} are met, {partly} are partly met and {absent} are not applicable."
    assert line in PAGE.read_text("utf-8")
