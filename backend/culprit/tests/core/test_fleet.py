"""What rules last said of a host, folded into cells."""

from __future__ import annotations

from typing import Any

from culprit.core.fleet import Word, cells, worst
from culprit.core.rules.use import Place

CPU = Place("cpu", "saturation")
RUNQ, LOAD, STEAL = "F-SCHED-RUNQ", "F-LOAD-HIGH", "F-CPU-STEAL"


def word(rule: str, state: Any, look: int = 0, **given: Any) -> Word:
    return Word(rule, state, given.pop("severity", "warn"), given.pop("op", ">"), look, **given)


def test_a_cell_has_the_age_of_what_it_shows() -> None:
    words = {RUNQ: word(RUNQ, "quiet", 0), STEAL: word(STEAL, "fired", 1, severity="critical")}
    cell = cells(words)[CPU]
    assert (cell.word.rule, cell.word.look, cell.said, cell.fired) == (STEAL, 1, 2, 1)


def test_the_worst_of_what_fired_stands_in_the_cell() -> None:
    mild = word(RUNQ, "fired", severity="warn", value=50.0, threshold=1.0)
    grave = word(STEAL, "fired", severity="critical", value=6.0, threshold=5.0)
    assert cells({RUNQ: mild, STEAL: grave})[CPU].word is grave


def test_what_is_not_sure_comes_before_what_is_quiet() -> None:
    unsure = word(RUNQ, "inconclusive")
    calm = word(STEAL, "quiet", severity="critical", value=4.9, threshold=5.0)
    assert cells({RUNQ: unsure, STEAL: calm})[CPU].word is unsure


def test_a_quiet_cell_shows_the_number_nearest_to_firing_but_none_beyond_its_threshold() -> None:
    near = word(RUNQ, "quiet", value=0.9, threshold=1.0)
    far = word(STEAL, "quiet", value=0.1, threshold=5.0)
    beyond = word(LOAD, "quiet", value=9.0, threshold=1.0)
    assert cells({RUNQ: near, STEAL: far, LOAD: beyond})[CPU].word is near


def test_nearness_to_a_lower_bound() -> None:
    assert word(RUNQ, "quiet", op="<", value=20.0, threshold=10.0).closeness == 0.5
    assert word(RUNQ, "quiet", op="<", value=0.0, threshold=10.0).closeness == 0.0


def test_cells_that_nobody_looked_at_are_not_there_and_rules_without_a_place_are_in_none() -> None:
    assert cells({"F-PERF-LOST": word("F-PERF-LOST", "fired")}) == {}


def test_the_worst_of_a_host() -> None:
    words = [word(RUNQ, "fired"), word(STEAL, "quiet", severity="critical")]
    assert worst(words) == "warn"
    assert worst(words[1:]) is None
