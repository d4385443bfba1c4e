"""USE categories of the rules."""

from __future__ import annotations

from culprit.domain.rules.registry import RULES, USE_BY_RULE
from culprit.domain.rules.use_method import RESOURCES, USE_TYPES

DATA_QUALITY = {
    "F-CAPTURE-DISTURBED",
    "F-NUMA-NODES",
    "F-PERF-LOST",
    "F-PERF-UNKNOWN-FRAMES",
    "F-SEC-ROOT-SERVICE",
}


def test_rules_without_a_use_category_are_about_data_quality_or_setup() -> None:
    assert set(RULES) - set(USE_BY_RULE) == DATA_QUALITY


def test_every_column_of_the_use_grid_has_a_rule() -> None:
    columns = {(use.resource, use.use_category) for use in USE_BY_RULE.values()}
    assert columns == {(resource, use_type) for resource in RESOURCES for use_type in USE_TYPES}
