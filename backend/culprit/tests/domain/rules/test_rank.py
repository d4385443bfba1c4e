"""From findings to causes: which are named, in which order, and what they explain."""

from __future__ import annotations

from types import MappingProxyType

from culprit.domain.rules.cause import Cause
from culprit.domain.rules.finding import Finding, Number, Strength
from culprit.domain.rules.ranking.rank import rank_causes
from culprit.domain.rules.ranking.stages import list_untried_collectors, plan_next_stage
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.rule import MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Text

TEXT = Text("x", "x")
STRENGTHS = tuple(Strength)
FAILING_AND_WAITING = (("F", "errors"), ("W", "saturation"))


def rule(name: str, *causes: str, strength: Strength = Strength.DIRECT, **more) -> Rule:
    measure = MetricReading("tcp.listen_overflows_per_s")
    thresholds = (("warn", Threshold("warn", 1)),)
    return Rule(
        name, TEXT, TEXT, measure, ">", thresholds, strength, causes=causes, **({"harm": True} | more)
    )


def cause(name: str, **more) -> Cause:
    return Cause(name, TEXT, TEXT, TEXT, TEXT, TEXT, **({"proven_by": ("lab",)} | more))


def make_finding(rule: Rule, state: str = "matched", value: float = 2.0, **subject: str) -> Finding:
    number = Number("m", value, "per_s", ">", 1.0, ())
    return Finding(rule.id, state, "warn", rule.strength, tuple(sorted(subject.items())), (number,))


def ranking(findings, rules, causes):
    return rank_causes(findings, {rule.id: rule for rule in rules}, {cause.id: cause for cause in causes})


def names(result) -> list[tuple[str, str]]:
    return [(cause.cause, cause.confidence) for cause in result.causes]


def test_stronger_evidence_comes_first() -> None:
    rules = [
        rule("R1", "a", strength=Strength.CORRELATIONAL),
        rule("R2", "b", strength=Strength.MECHANISM),
        rule("R3", "c", strength=Strength.DIRECT),
        rule("R4", "d", strength=Strength.CONTEXT),
    ]
    result = ranking(
        [make_finding(rule, value=100) for rule in rules], rules, [cause(name) for name in "abcd"]
    )
    assert names(result) == [("c", "likely"), ("b", "likely"), ("a", "possible")]
    assert result.not_checked == ("d",)


def test_what_nothing_has_proven_is_only_possible() -> None:
    result = rule("R", "a")
    assert names(ranking([make_finding(result)], [result], [cause("a", proven_by=())])) == [("a", "possible")]


def test_pattern_without_harm_is_only_possible() -> None:
    pattern = rule("R", "a", harm=False)
    harm = rule("H", strength=Strength.CONTEXT)
    match = make_finding(pattern, value=1e6, cgroup="/batch")
    assert names(ranking([match], [pattern], [cause("a")])) == [("a", "possible")]
    elsewhere = make_finding(harm, cgroup="/web")
    assert names(ranking([match, elsewhere], [pattern, harm], [cause("a")])) == [("a", "possible")]
    related = make_finding(harm, cgroup="/batch")
    result = ranking([match, related], [pattern, harm], [cause("a")])
    assert (names(result), result.harm) == ([("a", "likely")], (related,))


def test_harm_to_the_whole_host_counts_for_a_place_only_where_no_place_is_harmed() -> None:
    pattern = rule("R", "a", harm=False)
    harm = rule("H", strength=Strength.CONTEXT)
    match, of_host = make_finding(pattern, cgroup="/batch"), make_finding(harm)
    assert names(ranking([match, of_host], [pattern, harm], [cause("a")])) == [("a", "likely")]
    of_service = make_finding(harm, cgroup="/web")
    findings = [match, of_host, of_service]
    assert names(ranking(findings, [pattern, harm], [cause("a")])) == [("a", "possible")]


def test_harm_with_a_cause_of_its_own_counts_for_what_explains_it() -> None:
    """A full database refuses connections, and a neighbor is busy: only the first is why connections are refused."""
    refusals, neighbor = rule("R", "full"), rule("N", "neighbor", harm=False)
    findings = [make_finding(refusals), make_finding(neighbor)]
    rules = [refusals, neighbor]
    assert names(ranking(findings, rules, [cause("full"), cause("neighbor")])) == [
        ("full", "likely"),
        ("neighbor", "possible"),
    ]
    above = cause("neighbor", explains=("between",))
    chain = [cause("full"), cause("between", explains=("full",)), above]
    assert names(ranking(findings, rules, chain)) == [("neighbor", "likely")]


def test_the_largest_share_of_the_time_names_a_possible_cause_only_where_no_cause_has_support() -> None:
    running, disk = (
        rule(name, strength=Strength.CONTEXT, harm=False, default_cause=default)
        for name, default in (("R", "computes"), ("D", "disk"))
    )
    known, failing = (
        rule("K", "known", strength=Strength.CORRELATIONAL, harm=False),
        rule("F", use=Use("application", "errors")),
    )
    causes, rules = [cause(name) for name in ("computes", "disk", "known")], [running, disk, known, failing]
    shares = [make_finding(running, value=60, pid="7"), make_finding(disk, value=35, pid="7")]
    assert names(ranking(shares, rules, causes)) == [("computes", "possible")]
    support = make_finding(known)
    assert names(ranking([*shares, support], rules, causes)) == [("known", "possible")]
    waiting = rule("W", strength=Strength.CONTEXT, use=Use("application", "saturation"))
    harmed = names(ranking([*shares, support, make_finding(waiting, pid="9")], [*rules, waiting], causes))
    assert ("computes", "possible") in harmed, "harm that no cause with support explains"
    assert names(ranking([*shares, make_finding(failing)], rules, causes)) == [], "failing takes no time"


def test_waiting_requests_are_no_harm_of_a_cause_that_takes_no_time() -> None:
    """A connection that is refused makes its request fail at once; what waits does not wait for it."""
    refused = rule("R", "refused", harm=False)
    failing, waiting = (rule(name, use=Use("application", kind)) for name, kind in FAILING_AND_WAITING)
    rules, causes = [refused, failing, waiting], [cause("refused", takes_no_time=True)]
    for harm, confidence in ((waiting, "possible"), (failing, "likely")):
        named = ranking([make_finding(refused), make_finding(harm)], rules, causes)
        assert names(named) == [("refused", confidence)]


def test_failing_requests_are_no_harm_of_a_cause_that_takes_time() -> None:
    """A service that fails at once did not wait for a CPU; requests that wait may have."""
    neighbor = rule("N", "neighbor", harm=False)
    failing, waiting = (rule(name, use=Use("application", kind)) for name, kind in FAILING_AND_WAITING)
    causes = [cause("neighbor", mechanisms=("runnable",)), cause("limit")]
    rules = [neighbor, failing, waiting, rule("L", "limit", harm=False)]
    named = names(ranking([make_finding(neighbor), make_finding(failing)], rules, causes))
    assert named == [("neighbor", "possible")]
    named = names(ranking([make_finding(neighbor), make_finding(waiting)], rules, causes))
    assert named == [("neighbor", "likely")]
    named = names(ranking([make_finding(rules[3]), make_finding(failing)], rules, causes))
    assert named == [("limit", "likely")]


def test_a_cause_absorbs_what_it_explains() -> None:
    rules = [rule("R1", "a"), rule("R2", "b", strength=Strength.MECHANISM), rule("R3", "c")]
    causes = [cause("a", explains=("b",)), cause("b"), cause("c")]
    result = ranking([make_finding(rule) for rule in rules], rules, causes)
    assert names(result) == [("a", "likely"), ("c", "likely")]
    assert result.causes[0].explains == ("b",)


def test_a_cause_goes_before_a_consequence_that_is_better_proven() -> None:
    rules = [rule("R1", "b"), rule("R2", "c"), rule("R3", "a", strength=Strength.MECHANISM)]
    causes = [cause("a", explains=("b", "c")), cause("b", explains=("d",)), cause("c"), cause("d")]
    result = ranking([make_finding(rule) for rule in rules], rules, causes)
    assert names(result) == [("a", "likely")]
    assert set(result.causes[0].explains) == {"b", "c"}
    rules[2] = rule("R3", "a", strength=Strength.CORRELATIONAL)
    result = ranking([make_finding(rule) for rule in rules], rules, causes)
    assert names(result) == [("b", "likely"), ("c", "likely"), ("a", "possible")]


def test_a_cause_that_the_lab_never_proved_is_possible_and_goes_before_its_consequence() -> None:
    rules = [
        rule("R1", "b"),
        rule("R2", "a", strength=Strength.MECHANISM),
        rule("R3", "c", strength=Strength.CORRELATIONAL),
    ]
    causes = [cause("a", explains=("b",), proven_by=()), cause("b"), cause("c")]
    result = ranking([make_finding(rule) for rule in rules], rules, causes)
    assert names(result) == [("a", "possible"), ("c", "possible")]
    assert result.causes[0].explains == ("b",)


def test_rank_causes_merges_explained_causes() -> None:
    rules = [rule("R1", "a"), rule("R2", "b", strength=Strength.MECHANISM)]
    findings = [make_finding(rule) for rule in rules]
    result = ranking(findings, rules, [cause("a"), cause("b", explains=("a",))])
    assert [(cause.cause, cause.explains) for cause in result.causes] == [("b", ("a",))]


def test_what_a_likely_cause_would_explain_is_not_followed_up() -> None:
    rules = [rule("R1", "a"), rule("R2", strength=Strength.CONTEXT, suspects=("b",))]
    suspect = cause("b", tested_by=("perf_record",))
    findings = [make_finding(rule) for rule in rules]
    assert ranking(findings, rules, [cause("a"), suspect]).open == ("b",)
    assert ranking(findings, rules, [cause("a", explains=("b",)), suspect]).open == ()
    rules.append(rule("R3", "b", strength=Strength.CORRELATIONAL))
    findings.append(make_finding(rules[2]))
    assert ranking(findings, rules, [cause("a"), suspect]).open == ("b",)
    assert ranking(findings, rules, [cause("a", explains=("b",)), suspect]).open == ()


def test_rank_causes_keeps_single_cause_of_cycle() -> None:
    rules = [rule("R1", "a"), rule("R2", "b"), rule("R3", "c", strength=Strength.MECHANISM)]
    ring = [cause("a", explains=("b",)), cause("b", explains=("c",)), cause("c", explains=("a",))]
    result = ranking([make_finding(rule) for rule in rules], rules, ring)
    assert [cause.cause for cause in result.causes] == ["a"]
    assert sorted(result.causes[0].explains) == ["b", "c"]


def test_two_groups_are_two_illnesses() -> None:
    rules = [rule("R1", "a"), rule("R2", "b", strength=Strength.MECHANISM)]
    causes = [cause("a", explains=("b",)), cause("b")]
    result = ranking(
        [make_finding(rules[0], cgroup="/one"), make_finding(rules[1], cgroup="/two")], rules, causes
    )
    assert [cause.cause for cause in result.causes] == ["a", "b"]
    result = ranking(
        [make_finding(rules[0], cgroup="/one"), make_finding(rules[1], cgroup="/one", pid="3")], rules, causes
    )
    assert [cause.cause for cause in result.causes] == ["a"]


def test_rank_causes_lists_refuted_findings_separately() -> None:
    rules = [rule("R1", "a", refuted_by=("R2",)), rule("R2", strength=Strength.CONTEXT)]
    result = ranking([make_finding(rules[0]), make_finding(rules[1])], rules, [cause("a")])
    assert not result.causes
    assert [item.rule for item in result.refuted] == ["R1"]


def test_quiet_rules_out_and_not_evaluated_does_not() -> None:
    rules = [rule("R1", "a", refutes=("a",)), rule("R2", "b", refutes=("b",))]
    unsaid = Finding("R2", "not_evaluated", "warn", Strength.DIRECT, ())
    result = ranking([make_finding(rules[0], "not_matched", 0.5), unsaid], rules, [cause("a"), cause("b")])
    assert [item.cause for item in result.ruled_out] == ["a"]
    assert result.not_checked == ("b",)


def test_a_suspicion_asks_for_what_can_settle_it() -> None:
    weak = rule("R1", strength=Strength.CONTEXT, suspects=("a",))
    causes = [cause("a", tested_by=("perf_record", "perf_sched"))]
    findings = [make_finding(weak, pid="42")]
    result = ranking(findings, [weak], causes)
    assert result.open == ("a",)
    by_id = {cause.id: cause for cause in causes}
    stage = plan_next_stage(
        result,
        findings,
        {"R1": weak},
        by_id,
        tried=("server_logs", "certificates"),
        may_run=lambda tier: tier != "deep",
    )
    assert stage is not None
    assert (dict(stage.collectors), stage.refused) == ({"perf_record": 8}, ("perf_sched",))
    assert stage.about == (("pid", "42"),)
    assert (
        plan_next_stage(
            result,
            findings,
            {"R1": weak},
            by_id,
            tried=("server_logs", "certificates", "perf_record", "perf_sched"),
            may_run=lambda _: True,
        )
        is None
    )


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(1.1, 1e6), st.sampled_from("abc")), max_size=12))
def test_the_order_is_that_of_confidence_and_grade(samples) -> None:
    rules = [
        rule(f"R{at}", name, strength=STRENGTHS[strength]) for at, (strength, _, name) in enumerate(samples)
    ]
    findings = [make_finding(item, value=value) for item, (_, value, _) in zip(rules, samples, strict=True)]
    result = ranking(findings, rules, [cause(name) for name in "abc"])
    assert [cause.confidence for cause in result.causes] == sorted(
        cause.confidence for cause in result.causes
    )
    strengths = [STRENGTHS.index(cause.evidence[0].strength) for cause in result.causes]
    assert strengths == sorted(strengths)
    again = ranking(list(reversed(findings)), rules, [cause(name) for name in "abc"])
    assert [cause.cause for cause in again.causes] == [cause.cause for cause in result.causes] or len(
        {round(value, 6) for _, value, _ in samples}
    ) < len(samples)


def test_rules_and_causes_refer_to_existing_ids() -> None:
    """Every name that a rule or a cause uses exists, every rule is in both languages, thresholds have names."""
    assert isinstance(RULES, MappingProxyType)
    for rule in RULES.values():
        assert set(rule.causes) | set(rule.refutes) | set(rule.suspects) <= CAUSES.keys(), rule.id
        assert not rule.default_cause or rule.default_cause in rule.suspects, rule.id
        assert set(rule.refuted_by) <= RULES.keys(), rule.id
        for text in filter(None, (rule.title, rule.summary, rule.caveats)):
            assert text.en.strip() and any("\u4e00" <= letter <= "\u9fff" for letter in text.zh), rule.id
        limits = [limit.name for limit in rule.all_thresholds()]
        assert len(limits) == len(set(limits)), rule.id
        if rule.strength is not Strength.CONTEXT:
            assert rule.summary.en.find("{value}") >= 0, rule.id
    for rule in CAUSES.values():
        assert set(rule.explains) <= CAUSES.keys(), rule.id
        for text in (rule.title, rule.what, rule.fix, rule.risk, rule.verify):
            assert text.en.strip() and any("\u4e00" <= letter <= "\u9fff" for letter in text.zh), rule.id


def test_untried_collectors_decide_what_is_not_settled() -> None:
    rules = [rule("R1", "a"), rule("R2", refutes=("c",))]
    causes = [
        cause("a", tested_by=("perf_record",)),
        cause("b", tested_by=("perf_record", "offcpu")),
        cause("c", tested_by=("offcpu",)),
        cause("d", tested_by=("offcpu", "perf_trace")),
    ]
    result = ranking([make_finding(rules[0]), make_finding(rules[1], "not_matched")], rules, causes)
    untried = list_untried_collectors(result, {item.id: item for item in causes}, tried={"perf_trace"})
    assert [(item.collector, item.decides) for item in untried] == [
        ("offcpu", ("b", "d")),
        ("perf_record", ("b",)),
    ]


def test_a_default_cause_that_is_no_part_of_the_catalog_is_not_named() -> None:
    running = rule("R", strength=Strength.CONTEXT, harm=False, default_cause="computes")
    assert names(ranking([make_finding(running, value=60, pid="7")], [running], [cause("other")])) == []
