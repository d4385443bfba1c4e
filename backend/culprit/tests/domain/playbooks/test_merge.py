"""Tests of the evaluation over several hosts and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from culprit.domain.playbooks.engine import evaluate_playbook
from culprit.domain.playbooks.merge import (
    VERDICT_PRIORITY,
    Evidence,
    HostOption,
    PersonVerdict,
    PlaybookWalk,
    RunEvaluation,
    combine_verdicts,
    list_gaps,
    merge_hosts,
    propose_next_step,
)
from culprit.domain.playbooks.model import Playbook, PlaybookHypothesis, PlaybookStep, Verdict
from culprit.domain.rules.finding import Finding, Number, Strength
from culprit.domain.rules.registry import RULES
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Sentence, Text, Tier

T = Text("it", "它")
TIME_WAIT, SEARCH = "F-NET-TIMEWAIT-PRESSURE", "F-FLAME-INET-HASH-CONNECT"
ALL_TIERS = frozenset({Tier.LIGHT, Tier.STANDARD})
MISSING = Sentence("missing.not_collected", {"collector": "perf_record"})
DOUBT = Sentence("doubt.unknown_frames", {"share": 40})
BOOK = Playbook(
    "ports", "case", T, T, (T,), (T,),
    (PlaybookHypothesis("search", T, "timewait-port-search"), PlaybookHypothesis("peer", T, "slow-dependency")),
    (
        PlaybookStep("time-wait", T, "search", {"refutes": "peer-slow", "otherwise": "stacks"}, TIME_WAIT, not_matched="refutes"),
        PlaybookStep("stacks", T, "search", {"supports": "end", "otherwise": "peer-slow"}, SEARCH, not_matched="refutes"),
        PlaybookStep("peer-slow", T, "peer", {"otherwise": "end"}, instructions=T),
    ),
)  # fmt: skip
HOSTS = ("a", "b")


def finding(rule: str, state: str) -> Finding:
    reason = {"inconclusive": DOUBT, "not_evaluated": MISSING}.get(state)
    numbers = () if state == "not_evaluated" else (Number("x", 1.0, "pct", ">", 5.0, ()),)
    return Finding(rule, state, "warn", RULES[rule].strength, (), numbers, reason)  # type: ignore[arg-type]


def run(name: str, **states: str) -> RunEvaluation:
    rules = {"time_wait": TIME_WAIT, "search": SEARCH}
    return RunEvaluation(name, {rules[key]: (finding(rules[key], state),) for key, state in states.items()})


def make_verdict(
    verdict: Verdict, step: str = "stacks", host: str | None = None, who: str = "ada", at: float = 1
) -> PersonVerdict:
    return PersonVerdict(f"{who}{at}", f"ports/{step}", host, verdict, who, at)


def walked(
    run_evaluations: dict[str, list[RunEvaluation]],
    spoken: Sequence[PersonVerdict] = (),
    muted: frozenset[tuple[str, str]] = frozenset(),
) -> PlaybookWalk:
    return merge_hosts(BOOK, HOSTS, HOSTS, Evidence(run_evaluations, spoken, muted), RULES)


def test_merge_hosts_uses_newest_answering_run() -> None:
    hosts = walked(
        {"a": [run("new", search="matched"), run("old", time_wait="matched", search="not_matched")], "b": []}
    ).hosts
    assert (hosts["time-wait"][0].run, hosts["stacks"][0].run) == ("old", "new")
    assert hosts["stacks"][0].answer.verdict == "supports"
    assert hosts["stacks"][1].run is None and hosts["stacks"][1].answer.verdict == "not_collected"


def test_merge_hosts_ignores_newer_run_without_answer() -> None:
    hosts = walked(
        {"a": [run("new", search="not_evaluated"), run("old", search="not_matched")], "b": []}
    ).hosts
    assert hosts["stacks"][0].run == "old" and hosts["stacks"][0].answer.verdict == "refutes"
    hosts = walked({"a": [run("new", search="not_evaluated")], "b": []}).hosts
    assert hosts["stacks"][0].run == "new" and hosts["stacks"][0].answer.reason == MISSING


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (("refutes", "refutes"), "refutes"),
        (("refutes", "not_collected"), "not_collected"),
        (("refutes", "supports"), "supports"),
        (("inconclusive", "not_collected"), "not_collected"),
        (("inconclusive", "refutes"), "inconclusive"),
        ((), "not_collected"),
    ],
)
def test_combine_verdicts_refutes_only_if_all_hosts_refute(
    verdicts: tuple[Verdict, ...], expected: Verdict
) -> None:
    assert combine_verdicts(verdicts) == expected


@given(st.lists(st.sampled_from(VERDICT_PRIORITY)))
def test_combine_verdicts_is_independent_of_order(verdicts: list[Verdict]) -> None:
    assert combine_verdicts(verdicts) == combine_verdicts(verdicts[::-1]) == combine_verdicts({*verdicts})
    assert combine_verdicts(verdicts) in {*verdicts, "not_collected"}
    assert combine_verdicts(verdicts) != "refutes" or set(verdicts) == {"refutes"}


def test_merge_hosts_prefers_person_and_stores_disagreement() -> None:
    result = walked(
        {"a": [run("r", search="matched")], "b": [run("q", search="not_matched")]}, [make_verdict("refutes")]
    )
    first, second = result.hosts["stacks"]
    assert (
        first.answer.by == "person" and first.answer.verdict == "refutes" and first.rule.verdict == "supports"
    )
    assert first.disagrees and not second.disagrees
    assert result.chain.answers["stacks"].verdict == "refutes"


def test_merge_hosts_prefers_verdict_about_single_host() -> None:
    spoken = [make_verdict("supports", host="a", at=1), make_verdict("refutes", at=2)]
    first, second = walked({"a": [], "b": []}, spoken).hosts["stacks"]
    assert (first.answer.verdict, second.answer.verdict) == ("supports", "refutes")


def test_merge_hosts_reports_disagreement_between_people() -> None:
    two = walked(
        {}, [make_verdict("supports", who="ada", at=1), make_verdict("refutes", who="bob", at=2)]
    ).hosts["stacks"][0]
    assert two.disagrees and two.answer.verdict == "refutes"
    stack = walked(
        {}, [make_verdict("supports", who="ada", at=1), make_verdict("refutes", who="ada", at=2)]
    ).hosts["stacks"][0]
    assert not stack.disagrees and stack.answer.verdict == "refutes"


def test_merge_hosts_limits_strength_of_person() -> None:
    result = walked({}, [make_verdict("supports", "time-wait"), make_verdict("supports", "peer-slow")])
    assert result.chain.answers["time-wait"].strength is RULES[TIME_WAIT].strength
    assert result.chain.answers["peer-slow"].strength is Strength.MECHANISM


def test_merge_hosts_ignores_muted_finding() -> None:
    stack = walked({"a": [run("r", search="matched")], "b": []}, muted=frozenset({("a", SEARCH)})).hosts[
        "stacks"
    ][0]
    assert stack.answer.verdict == "inconclusive" and [item.rule for item in stack.muted] == [SEARCH]
    assert stack.answer.reason is not None and stack.answer.reason.key == "playbook.muted"
    not_matched = walked(
        {"a": [run("r", search="not_matched")], "b": []}, muted=frozenset({("a", SEARCH)})
    ).hosts["stacks"][0]
    assert not_matched.answer.verdict == "refutes" and not not_matched.muted


def test_merge_hosts_ignores_removed_rule() -> None:
    gone = replace(BOOK, steps=(replace(BOOK.steps[1], finding="F-GONE", branches={"otherwise": "end"}),))
    hosts = merge_hosts(gone, HOSTS, HOSTS, Evidence({}, [make_verdict("supports")]), RULES)
    assert hosts.hosts["stacks"][0].rule.reason == Sentence("playbook.rule_removed", {"rule": "F-GONE"})
    assert hosts.chain.answers["stacks"].strength is Strength.CONTEXT
    assert (
        propose_next_step([merge_hosts(gone, HOSTS, HOSTS, Evidence({}), RULES)], places(), (), (), RULES)
        is None
    )


@given(
    st.sampled_from(["matched", "not_matched", "inconclusive", "not_evaluated"]),
    st.sampled_from(["matched", "not_matched"]),
)
def test_merge_hosts_equals_evaluate_playbook_for_single_run(search: str, time_wait: str) -> None:
    received = run("r", search=search, time_wait=time_wait)
    alone = merge_hosts(BOOK, ("a",), ("a",), Evidence({"a": [received]}), RULES).chain
    plain = evaluate_playbook(BOOK, [item for each in received.findings.values() for item in each], RULES)
    assert (alone.path, alone.gaps, alone.next_playbook) == (plain.path, plain.gaps, plain.next_playbook)
    for name, stand in plain.hypotheses.items():
        assert (
            alone.hypotheses[name].status == stand.status
            and alone.hypotheses[name].strength == stand.strength
        )


def test_merge_hosts_excludes_uncounted_host_from_chain() -> None:
    hosts = merge_hosts(BOOK, HOSTS, ("a",), Evidence({"b": [run("r", search="matched")]}), RULES)
    assert hosts.hosts["stacks"][1].answer.verdict == "supports"
    assert hosts.chain.answers["stacks"].verdict == "not_collected"


def places(*tried: str, allowed: frozenset[Tier] = ALL_TIERS) -> list[HostOption]:
    return [HostOption(host, allowed, frozenset(tried)) for host in HOSTS]


def test_propose_next_step_selects_host_without_answer() -> None:
    result = walked({"a": [run("r", time_wait="matched", search="inconclusive")], "b": []})
    step = propose_next_step([result], places(), (), (), RULES)
    assert step is not None and step.host == "b" and step.proposal.collectors


def test_propose_next_step_skips_unreachable_hosts() -> None:
    result = walked({"a": [], "b": []})
    nowhere = propose_next_step([result], places(allowed=frozenset()), (), (), RULES)
    assert nowhere is not None and nowhere.proposal.step == "peer-slow" and not nowhere.proposal.collectors


def test_propose_next_step_proposes_gaps_of_decided_hypotheses() -> None:
    result = walked({"a": [], "b": []})
    step = propose_next_step([result], places(), ("ports/search", "ports/peer"), (), RULES)
    assert step is not None and step.proposal.why.key == "next.gap"
    waived = tuple(f"ports/{step.id}" for step in BOOK.steps)
    assert propose_next_step([result], places(), ("ports/search", "ports/peer"), waived, RULES) is None
    assert list_gaps(result, waived) == () and set(list_gaps(result, ())) <= set(waived)
