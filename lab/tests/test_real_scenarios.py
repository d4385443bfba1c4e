"""Scenarios of real software are in the group to which their kind of fault was assigned."""

from __future__ import annotations

import re
from pathlib import Path

from lab import real
from lab.real import load_real_scenarios

GROUPS: dict[str, set[str]] = {}
for _group, _kinds in re.findall(
    r"^\| (development|holdout)(?:, [\w ]+)? \| (.*) \|$",
    (Path(real.__file__).parent / "README.md").read_text("utf-8"),
    re.MULTILINE,
):
    GROUPS.setdefault(_group, set()).update(_kinds.split(", "))


def test_no_kind_of_fault_is_in_both_groups() -> None:
    assert GROUPS["development"]
    assert not GROUPS["development"] & GROUPS.get("holdout", set())


def test_each_scenario_is_in_the_group_of_its_kind() -> None:
    for scenario in load_real_scenarios().values():
        assert scenario.software, scenario.id
        if scenario.kind == "healthy":
            assert not scenario.causes, scenario.id
        else:
            assert scenario.causes, scenario.id
            assert scenario.family in GROUPS[scenario.kind], (scenario.id, scenario.family)
