"""From findings to causes: which are named, in which order, and what they explain."""

from __future__ import annotations

from types import MappingProxyType

from culprit.core.rules.cause import Cause
from culprit.core.rules.contract import Finding, Grade, Limit, Number, Over, Rule
from culprit.core.rules.rank import rank
from culprit.core.rules.registry import CAUSES, RULES
from culprit.core.rules.stages import next_stage
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Text

SAYS = Text("x", "x")
GRADES = tuple(Grade)


def rule(name: str, *causes: str, grade: Grade = Grade.DIRECT, **more) -> Rule:
    measure = Over("tcp.listen_overflows_per_s")
    return Rule(name, SAYS, SAYS, measure, ">", (("warn", Limit("warn", 1)),), grade, causes=causes, **more)


def cause(name: str, **more) -> Cause:
    return Cause(name, SAYS, SAYS, SAYS, SAYS, SAYS, **({"proven_by": ("lab",)} | more))


def said(made: Rule, state: str = "fired", value: float = 2.0, **subject: str) -> Finding:
    number = Number("m", value, "per_s", ">", 1.0, ())
    return Finding(made.id, state, "warn", made.grade, tuple(sorted(subject.items())), (number,))


def ranking(findings, rules, causes):
    return rank(findings, {one.id: one for one in rules}, {one.id: one for one in causes})


def names(found) -> list[tuple[str, str]]:
    return [(one.cause, one.confidence) for one in found.causes]


def test_stronger_evidence_comes_first() -> None:
    rules = [
        rule("R1", "a", grade=Grade.CORRELATIONAL),
        rule("R2", "b", grade=Grade.MECHANISM),
        rule("R3", "c", grade=Grade.DIRECT),
        rule("R4", "d", grade=Grade.CONTEXT),
    ]
    found = ranking([said(one, value=100) for one in rules], rules, [cause(name) for name in "abcd"])
    assert names(found) == [("c", "likely"), ("b", "likely"), ("a", "possible")]
    assert found.not_looked_at == ("d",)


def test_what_nothing_has_proven_is_only_possible() -> None:
    made = rule("R", "a")
    assert names(ranking([said(made)], [made], [cause("a", proven_by=())])) == [("a", "possible")]


def test_a_cause_absorbs_what_it_explains() -> None:
    rules = [rule("R1", "a"), rule("R2", "b", grade=Grade.MECHANISM), rule("R3", "c")]
    causes = [cause("a", explains=("b",)), cause("b"), cause("c")]
    found = ranking([said(one) for one in rules], rules, causes)
    assert names(found) == [("a", "likely"), ("c", "likely")]
    assert found.causes[0].explains == ("b",)


def test_a_cause_goes_before_a_consequence_that_is_better_proven() -> None:
    rules = [rule("R1", "b"), rule("R2", "c"), rule("R3", "a", grade=Grade.MECHANISM)]
    causes = [cause("a", explains=("b", "c")), cause("b", explains=("d",)), cause("c"), cause("d")]
    found = ranking([said(one) for one in rules], rules, causes)
    assert names(found) == [("a", "likely")]
    assert set(found.causes[0].explains) == {"b", "c"}
    doubtful = [cause("a", explains=("b", "c"), proven_by=()), *causes[1:]]
    found = ranking([said(one) for one in rules], rules, doubtful)
    assert names(found) == [("b", "likely"), ("c", "likely"), ("a", "possible")]


def test_a_cause_absorbs_what_is_told_more_directly() -> None:
    rules = [rule("R1", "a"), rule("R2", "b", grade=Grade.MECHANISM)]
    findings = [said(one) for one in rules]
    found = ranking(findings, rules, [cause("a"), cause("b", explains=("a",))])
    assert [(one.cause, one.explains) for one in found.causes] == [("b", ("a",))]
    unproven = cause("b", explains=("a",), proven_by=())
    assert names(ranking(findings, rules, [cause("a"), unproven])) == [("a", "likely"), ("b", "possible")]


def test_what_a_likely_cause_would_explain_is_not_followed_up() -> None:
    rules = [rule("R1", "a"), rule("R2", grade=Grade.CONTEXT)]
    suspect = cause("b", suspected_by=("R2",), tested_by=("perf_record",))
    findings = [said(one) for one in rules]
    assert ranking(findings, rules, [cause("a"), suspect]).open == ("b",)
    assert ranking(findings, rules, [cause("a", explains=("b",)), suspect]).open == ()
    rules.append(rule("R3", "b", grade=Grade.CORRELATIONAL))
    findings.append(said(rules[2]))
    assert ranking(findings, rules, [cause("a"), suspect]).open == ("b",)
    assert ranking(findings, rules, [cause("a", explains=("b",)), suspect]).open == ()


def test_causes_that_explain_each_other_leave_one() -> None:
    rules = [rule("R1", "a"), rule("R2", "b"), rule("R3", "c", grade=Grade.MECHANISM)]
    ring = [cause("a", explains=("b",)), cause("b", explains=("c",)), cause("c", explains=("a",))]
    found = ranking([said(one) for one in rules], rules, ring)
    assert [one.cause for one in found.causes] == ["a"]
    assert sorted(found.causes[0].explains) == ["b", "c"]


def test_two_groups_are_two_illnesses() -> None:
    rules = [rule("R1", "a"), rule("R2", "b", grade=Grade.MECHANISM)]
    causes = [cause("a", explains=("b",)), cause("b")]
    found = ranking([said(rules[0], cgroup="/one"), said(rules[1], cgroup="/two")], rules, causes)
    assert [one.cause for one in found.causes] == ["a", "b"]
    found = ranking([said(rules[0], cgroup="/one"), said(rules[1], cgroup="/one", pid="3")], rules, causes)
    assert [one.cause for one in found.causes] == ["a"]


def test_a_refuted_finding_is_set_aside() -> None:
    rules = [rule("R1", "a", refuted_by=("R2",)), rule("R2", grade=Grade.CONTEXT)]
    found = ranking([said(rules[0]), said(rules[1])], rules, [cause("a")])
    assert not found.causes
    assert [one.rule for one in found.set_aside] == ["R1"]


def test_quiet_rules_out_and_not_evaluated_does_not() -> None:
    rules = [rule("R1", "a", refutes=("a",)), rule("R2", "b", refutes=("b",))]
    unsaid = Finding("R2", "not_evaluated", "warn", Grade.DIRECT, ())
    found = ranking([said(rules[0], "quiet", 0.5), unsaid], rules, [cause("a"), cause("b")])
    assert [one.cause for one in found.ruled_out] == ["a"]
    assert found.not_looked_at == ("b",)


def test_a_suspicion_asks_for_what_can_settle_it() -> None:
    weak = rule("R1", grade=Grade.CONTEXT)
    causes = [cause("a", suspected_by=("R1",), tested_by=("perf_record", "perf_sched"))]
    findings = [said(weak, pid="42")]
    found = ranking(findings, [weak], causes)
    assert found.open == ("a",)
    by_id = {one.id: one for one in causes}
    stage = next_stage(found, findings, by_id, ("vmstat",), lambda tier: tier != "deep")
    assert stage is not None
    assert (dict(stage.collectors), stage.refused) == ({"perf_record": 8}, ("perf_sched",))
    assert stage.about == (("pid", "42"),)
    assert next_stage(found, findings, by_id, ("perf_record", "perf_sched"), lambda _: True) is None


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(1.1, 1e6), st.sampled_from("abc")), max_size=12))
def test_the_order_is_that_of_confidence_and_grade(drawn) -> None:
    rules = [rule(f"R{at}", name, grade=GRADES[grade]) for at, (grade, _, name) in enumerate(drawn)]
    findings = [said(one, value=value) for one, (_, value, _) in zip(rules, drawn, strict=True)]
    found = ranking(findings, rules, [cause(name) for name in "abc"])
    assert [one.confidence for one in found.causes] == sorted(one.confidence for one in found.causes)
    strengths = [GRADES.index(one.evidence[0].grade) for one in found.causes]
    assert strengths == sorted(strengths)
    again = ranking(list(reversed(findings)), rules, [cause(name) for name in "abc"])
    assert [one.cause for one in again.causes] == [one.cause for one in found.causes] or len(
        {round(value, 6) for _, value, _ in drawn}
    ) < len(drawn)


def test_the_catalogues_fit_together() -> None:
    """Every name that a rule or a cause uses exists, every rule is in both languages, thresholds have names."""
    assert isinstance(RULES, MappingProxyType)
    for one in RULES.values():
        assert set(one.causes) | set(one.refutes) <= CAUSES.keys(), one.id
        assert set(one.refuted_by) <= RULES.keys(), one.id
        for text in filter(None, (one.title, one.says, one.traps)):
            assert text.en.strip() and any("\u4e00" <= letter <= "\u9fff" for letter in text.zh), one.id
        limits = [limit.name for limit in one.limits()]
        assert len(limits) == len(set(limits)), one.id
        if one.grade is not Grade.CONTEXT:
            assert one.says.en.find("{value}") >= 0, one.id
    for one in CAUSES.values():
        assert set(one.explains) <= CAUSES.keys(), one.id
        assert set(one.suspected_by) <= RULES.keys(), one.id
        for text in (one.title, one.what, one.fix, one.risk, one.verify):
            assert text.en.strip() and any("\u4e00" <= letter <= "\u9fff" for letter in text.zh), one.id
