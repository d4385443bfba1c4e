"""The latest findings of a host, folded into cells."""

from __future__ import annotations

from typing import Any

from culprit.domain.hosts.fleet import RuleResult, build_use_cells, find_worst_severity
from culprit.domain.rules.use_method import Use

CPU = Use("cpu", "saturation")
RUNQ, LOAD, STEAL = "F-SCHED-RUNQ", "F-LOAD-HIGH", "F-CPU-STEAL"


def word(rule: str, state: Any, check: int = 0, **supplied: Any) -> RuleResult:
    return RuleResult(
        rule, state, supplied.pop("severity", "warn"), supplied.pop("op", ">"), check, **supplied
    )


def test_a_cell_has_the_age_of_what_it_shows() -> None:
    words = {RUNQ: word(RUNQ, "not_matched", 0), STEAL: word(STEAL, "matched", 1, severity="critical")}
    cell = build_use_cells(words)[CPU]
    assert (cell.result.rule, cell.result.run_index, cell.evaluated, cell.matched) == (STEAL, 1, 2, 1)


def test_build_use_cells_keeps_most_severe_match() -> None:
    mild = word(RUNQ, "matched", severity="warn", value=50.0, threshold=1.0)
    grave = word(STEAL, "matched", severity="critical", value=6.0, threshold=5.0)
    assert build_use_cells({RUNQ: mild, STEAL: grave})[CPU].result is grave


def test_inconclusive_comes_before_not_matched() -> None:
    unsure = word(RUNQ, "inconclusive")
    calm = word(STEAL, "not_matched", severity="critical", value=4.9, threshold=5.0)
    assert build_use_cells({RUNQ: unsure, STEAL: calm})[CPU].result is unsure


def test_a_quiet_cell_shows_the_number_nearest_to_firing_but_none_beyond_its_threshold() -> None:
    near = word(RUNQ, "not_matched", value=0.9, threshold=1.0)
    far = word(STEAL, "not_matched", value=0.1, threshold=5.0)
    beyond = word(LOAD, "not_matched", value=9.0, threshold=1.0)
    assert build_use_cells({RUNQ: near, STEAL: far, LOAD: beyond})[CPU].result is near


def test_nearness_to_a_lower_bound() -> None:
    assert word(RUNQ, "not_matched", op="<", value=20.0, threshold=10.0).threshold_ratio == 0.5
    assert word(RUNQ, "not_matched", op="<", value=0.0, threshold=10.0).threshold_ratio == 0.0


def test_build_use_cells_omits_rules_without_cell() -> None:
    assert build_use_cells({"F-PERF-LOST": word("F-PERF-LOST", "matched")}) == {}


def test_the_worst_of_a_host() -> None:
    words = [word(RUNQ, "matched"), word(STEAL, "not_matched", severity="critical")]
    assert find_worst_severity(words) == "warn"
    assert find_worst_severity(words[1:]) is None
