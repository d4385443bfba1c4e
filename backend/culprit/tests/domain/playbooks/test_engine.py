"""Tests of verdicts, paths and proposals of a playbook."""

from __future__ import annotations

from dataclasses import replace

import pytest
from culprit.domain.playbooks.engine import answer_step, evaluate_playbook, propose_step
from culprit.domain.playbooks.model import Playbook, PlaybookHypothesis, PlaybookStep, Verdict
from culprit.domain.rules.finding import Finding, Number, Strength
from culprit.domain.rules.registry import RULES
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Sentence, Text, Tier

T = Text("it", "它")
TIME_WAIT, SEARCH, SLOW = "F-NET-TIMEWAIT-PRESSURE", "F-FLAME-INET-HASH-CONNECT", "F-SYSCALL-SLOW-CONNECT"
EVERYTHING = frozenset(Tier)
MISSING = Sentence("missing.not_collected", {"collector": "perf_record"})
DOUBT = Sentence("doubt.unknown_frames", {"share": 40})
CHAIN = Playbook(
    "ports", "case", T, T, (T,), (T,),
    (PlaybookHypothesis("search", T, "timewait-port-search"), PlaybookHypothesis("peer", T, "slow-dependency")),
    (
        PlaybookStep("time-wait", T, "search", {"refutes": "peer-slow", "otherwise": "stacks"}, TIME_WAIT, not_matched="refutes"),
        PlaybookStep("stacks", T, "search", {"supports": "end", "otherwise": "peer-slow"}, SEARCH, not_matched="refutes"),
        PlaybookStep("peer-slow", T, "peer", {"supports": "playbook:slow", "otherwise": "end"}, instructions=T),
    ),
)  # fmt: skip


def finding(rule: str, state: str, reason: Sentence | None = None, *, numbers: bool = True) -> Finding:
    number = Number("x", 1.0, "pct", ">", 5.0, ())
    strength = RULES[rule].strength
    return Finding(rule, state, "warn", strength, (), (number,) if numbers else (), reason)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([finding(SEARCH, "matched")], "supports"),
        ([finding(SEARCH, "not_matched")], "refutes"),
        ([finding(SEARCH, "inconclusive", DOUBT)], "inconclusive"),
        ([finding(SEARCH, "not_evaluated", DOUBT)], "inconclusive"),
        ([finding(SEARCH, "not_evaluated", MISSING, numbers=False)], "not_collected"),
        ([finding(TIME_WAIT, "matched")], "not_collected"),
        ([finding(SEARCH, "not_matched"), finding(SEARCH, "matched")], "supports"),
        ([finding(SEARCH, "not_matched"), finding(SEARCH, "inconclusive", DOUBT)], "inconclusive"),
    ],
)
def test_answer_step_returns_verdict(findings: list[Finding], expected: Verdict) -> None:
    result = answer_step(CHAIN.get_step("stacks"), findings, RULES)
    assert result.verdict == expected
    assert (result.reason is None) == (expected in ("supports", "refutes"))
    assert bool(result.findings) == (expected != "not_collected")


def test_evaluate_playbook_continues_after_gap() -> None:
    chain = evaluate_playbook(CHAIN, [finding(TIME_WAIT, "matched")], RULES, {"peer-slow": "supports"})
    assert chain.path == ("time-wait", "stacks", "peer-slow")
    assert (chain.gaps, chain.next_playbook) == (("stacks",), "slow")
    assert chain.hypotheses["peer"].status == "supported" and chain.answers["peer-slow"].by == "person"


def test_evaluate_playbook_follows_refutes_branch() -> None:
    chain = evaluate_playbook(CHAIN, [finding(TIME_WAIT, "not_matched")], RULES)
    assert chain.path == ("time-wait", "peer-slow") and chain.hypotheses["search"].status == "refuted"


def test_evaluate_playbook_marks_contested_hypothesis() -> None:
    search = evaluate_playbook(
        CHAIN, [finding(TIME_WAIT, "not_matched"), finding(SEARCH, "matched")], RULES
    ).hypotheses["search"]
    assert (search.status, search.strength) == ("contested", Strength.MECHANISM)


def test_evaluate_playbook_prefers_verdict_of_person() -> None:
    chain = evaluate_playbook(CHAIN, [finding(TIME_WAIT, "matched")], RULES, {"time-wait": "refutes"})
    assert chain.answers["time-wait"].verdict == "refutes" and chain.path[1] == "peer-slow"


def test_propose_step_prefers_gain_per_cost() -> None:
    chain = evaluate_playbook(CHAIN, [], RULES)
    first = propose_step(CHAIN, chain, RULES, EVERYTHING)
    assert first is not None and (first.step, first.collectors, first.tier) == (
        "time-wait",
        ("ss",),
        Tier.LIGHT,
    )
    chain = evaluate_playbook(CHAIN, [finding(TIME_WAIT, "matched")], RULES)
    then = propose_step(CHAIN, chain, RULES, EVERYTHING, {"ss"})
    assert then is not None and (then.step, then.collectors) == ("stacks", ("perf_record",))
    person = propose_step(CHAIN, chain, RULES, {Tier.LIGHT}, {"ss"})
    assert person is not None and person.step == "peer-slow", "what may not run is left out"


def test_propose_step_returns_none_when_all_steps_have_verdicts() -> None:
    settled = [finding(TIME_WAIT, "matched"), finding(SEARCH, "matched")]
    chain = evaluate_playbook(CHAIN, settled, RULES, {"peer-slow": "refutes"})
    assert propose_step(CHAIN, chain, RULES, EVERYTHING) is None


def test_propose_step_skips_tried_collectors() -> None:
    chain = evaluate_playbook(CHAIN, [finding(TIME_WAIT, "matched")], RULES, {"peer-slow": "refutes"})
    assert propose_step(CHAIN, chain, RULES, EVERYTHING, {"ss", "perf_record"}) is None


NAMES = [f"s{number}" for number in range(6)]


@given(st.data())
def test_evaluate_playbook_visits_each_step_once(data: st.DataObject) -> None:
    targets = st.sampled_from([*NAMES, "end", "playbook:other"])
    ways = st.fixed_dictionaries({"otherwise": targets}, optional={"supports": targets, "refutes": targets})
    steps = tuple(PlaybookStep(name, T, "search", data.draw(ways), instructions=T) for name in NAMES)
    verdicts = st.sampled_from(["supports", "refutes", "inconclusive", "not_collected"])
    message = data.draw(st.dictionaries(st.sampled_from(NAMES), verdicts))
    chain = evaluate_playbook(replace(CHAIN, steps=steps), [], RULES, message)
    assert len(set(chain.path)) == len(chain.path) <= len(NAMES)
    assert set(chain.gaps) <= set(chain.path)
    proposed = propose_step(replace(CHAIN, steps=steps), chain, RULES, EVERYTHING)
    assert proposed is None or chain.answers[proposed.step].verdict == "not_collected"
