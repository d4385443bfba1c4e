"""A round whose true causes are removed from the catalog: a likely cause is then wrong, or a consequence of them."""

from __future__ import annotations

from culprit.domain.rules.cause import Cause
from culprit.domain.rules.finding import Finding, Number, Strength
from culprit.domain.rules.measures.service_time.accounts import ServiceTimes
from culprit.domain.rules.rule import MetricReading, Rule, Threshold

from bench.accuracy.unknown_causes import (
    MAX_ROWS,
    UnknownCauseAnswer,
    answer_without_truth,
    remove_causes,
    render_unknown_causes,
)
from collectors.contract import Text

TEXT = Text("x", "x")


def make_cause(name: str, *explains: str) -> Cause:
    return Cause(name, TEXT, TEXT, TEXT, TEXT, TEXT, explains=explains, proven_by=("lab",))


def make_rule(name: str, *causes: str, **more) -> Rule:
    thresholds = (("warn", Threshold("warn", 1)),)
    values = {"harm": True} | more
    return Rule(
        name, TEXT, TEXT, MetricReading("m"), ">", thresholds, Strength.DIRECT, causes=causes, **values
    )


def answer(truth: list[str], rules: list[Rule], causes: list[Cause]) -> UnknownCauseAnswer:
    number = Number("m", 2.0, "per_s", ">", 1.0, ())
    findings = [Finding(rule.id, "matched", "warn", rule.strength, (), (number,)) for rule in rules]
    return answer_without_truth(
        truth,
        findings,
        {rule.id: rule for rule in rules},
        {cause.id: cause for cause in causes},
        ServiceTimes(),
    )


def test_cause_that_the_truth_does_not_explain_is_wrong() -> None:
    result = answer(["disk"], [make_rule("D", "disk"), make_rule("N", "neighbor")],
                    [make_cause("disk"), make_cause("neighbor")])  # fmt: skip
    assert (result.wrong, result.consequences) == ({"neighbor": ("N",)}, {})


def test_cause_that_the_truth_explains_through_others_is_a_consequence() -> None:
    causes = [make_cause("disk", "lock"), make_cause("lock", "pool"), make_cause("pool")]
    result = answer(["disk"], [make_rule("D", "disk"), make_rule("P", "pool")], causes)
    assert (result.wrong, result.consequences) == ({}, {"pool": ("P",)})


def test_cause_that_would_explain_the_truth_is_wrong() -> None:
    causes = [make_cause("disk", "lock"), make_cause("lock")]
    assert answer(["lock"], [make_rule("D", "disk")], causes).wrong == {"disk": ("D",)}


def test_removed_cause_neither_refutes_nor_harms() -> None:
    causes = [make_cause("truth"), make_cause("other")]
    refuter, other = make_rule("T", "truth"), make_rule("O", "other", refuted_by=("T",))
    assert answer(["truth"], [refuter, other], causes).wrong == {"other": ("O",)}
    silent = make_rule("O", "other", harm=False)
    assert answer(["truth"], [refuter, silent], causes).wrong == {}


def test_rule_that_also_states_another_cause_remains_for_it() -> None:
    rules = {"B": make_rule("B", "truth", "other"), "H": make_rule("H"), "T": make_rule("T", "truth")}
    known_rules, known_causes = remove_causes(
        ["truth"], rules, {"truth": make_cause("truth"), "other": make_cause("other", "truth")}
    )
    assert {name: rule.causes for name, rule in known_rules.items()} == {"B": ("other",), "H": ()}
    assert {name: cause.explains for name, cause in known_causes.items()} == {"other": ()}


def test_table_names_the_worst_cause_first_and_is_bounded() -> None:
    answers = [
        UnknownCauseAnswer(("truth",), {"bad": ("R",)}, {}),
        UnknownCauseAnswer(("truth",), {"bad": ("R", "S"), "worse": ("R",)}, {"next": ("R",)}),
        UnknownCauseAnswer(("truth",), {}, {"next": ("R",)}),
        UnknownCauseAnswer(("truth",), {}, {}),
    ]
    lines = render_unknown_causes(answers)
    assert "in 4 faulty rounds" in lines[0] and "likely in 2, a consequence" in lines[0]
    assert "alone in 1, none in 1." in lines[0]
    assert lines[4:] == [
        "| bad | wrong | 2 | truth 2 | R 2, S |",
        "| worse | wrong | 1 | truth | R |",
        "| next | consequence | 2 | truth 2 | R 2 |",
    ]
    many = [UnknownCauseAnswer(("truth",), {f"c{at:03}": ("R",) for at in range(2 * MAX_ROWS)}, {})]
    rows = render_unknown_causes(many)[4:]
    assert (len(rows), rows[-1]) == (MAX_ROWS + 1, f"| {MAX_ROWS} more | | {MAX_ROWS} | | |")
