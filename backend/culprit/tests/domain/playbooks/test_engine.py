"""Verdicts, the walk, and what is proposed next."""

from __future__ import annotations

from dataclasses import replace

import pytest
from culprit.core.playbooks.contract import Hypothesis, Playbook, Step, Verdict
from culprit.core.playbooks.engine import answer, propose, walk
from culprit.core.rules.contract import Finding, Grade, Number
from culprit.core.rules.registry import RULES
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Sentence, Text, Tier

T = Text("it", "它")
TIME_WAIT, SEARCH, SLOW = "F-NET-TIMEWAIT-PRESSURE", "F-FLAME-INET-HASH-CONNECT", "F-SYSCALL-SLOW-CONNECT"
EVERYTHING = frozenset(Tier)
MISSING = Sentence("missing.not_collected", {"collector": "perf_record"})
DOUBT = Sentence("doubt.between", {"samples": 12, "low": 1.0, "high": 30.0})
CHAIN = Playbook(
    "ports", "case", T, T, (T,), (T,),
    (Hypothesis("search", T, "timewait-port-search"), Hypothesis("peer", T, "slow-dependency")),
    (
        Step("time-wait", T, "search", {"refutes": "peer-slow", "otherwise": "stacks"}, TIME_WAIT, quiet="refutes"),
        Step("stacks", T, "search", {"supports": "end", "otherwise": "peer-slow"}, SEARCH, quiet="refutes"),
        Step("peer-slow", T, "peer", {"supports": "playbook:slow", "otherwise": "end"}, look=T),
    ),
)  # fmt: skip


def finding(rule: str, state: str, reason: Sentence | None = None, *, numbers: bool = True) -> Finding:
    number = Number("x", 1.0, "pct", ">", 5.0, ())
    grade = RULES[rule].grade
    return Finding(rule, state, "warn", grade, (), (number,) if numbers else (), reason)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([finding(SEARCH, "fired")], "supports"),
        ([finding(SEARCH, "quiet")], "refutes"),
        ([finding(SEARCH, "inconclusive", DOUBT)], "inconclusive"),
        ([finding(SEARCH, "not_evaluated", DOUBT)], "inconclusive"),
        ([finding(SEARCH, "not_evaluated", MISSING, numbers=False)], "not_collected"),
        ([finding(TIME_WAIT, "fired")], "not_collected"),
        ([finding(SEARCH, "quiet"), finding(SEARCH, "fired")], "supports"),
        ([finding(SEARCH, "quiet"), finding(SEARCH, "inconclusive", DOUBT)], "inconclusive"),
    ],
)
def test_the_verdict_of_a_step(findings: list[Finding], expected: Verdict) -> None:
    found = answer(CHAIN.step("stacks"), findings, RULES)
    assert found.verdict == expected
    assert (found.reason is None) == (expected in ("supports", "refutes"))
    assert bool(found.findings) == (expected != "not_collected")


def test_the_walk_goes_on_behind_a_gap_and_leads_elsewhere() -> None:
    chain = walk(CHAIN, [finding(TIME_WAIT, "fired")], RULES, {"peer-slow": "supports"})
    assert chain.path == ("time-wait", "stacks", "peer-slow")
    assert (chain.gaps, chain.leads_to) == (("stacks",), "slow")
    assert chain.stands["peer"].standing == "supported" and chain.answers["peer-slow"].by == "person"


def test_a_refuted_step_takes_its_way() -> None:
    chain = walk(CHAIN, [finding(TIME_WAIT, "quiet")], RULES)
    assert chain.path == ("time-wait", "peer-slow") and chain.stands["search"].standing == "refuted"


def test_evidence_on_both_sides_is_contested_and_keeps_its_grade() -> None:
    found = walk(CHAIN, [finding(TIME_WAIT, "quiet"), finding(SEARCH, "fired")], RULES).stands["search"]
    assert (found.standing, found.grade) == ("contested", Grade.MECHANISM)


def test_a_person_stands_above_a_rule() -> None:
    chain = walk(CHAIN, [finding(TIME_WAIT, "fired")], RULES, {"time-wait": "refutes"})
    assert chain.answers["time-wait"].verdict == "refutes" and chain.path[1] == "peer-slow"


def test_what_tells_most_for_its_cost_comes_first() -> None:
    chain = walk(CHAIN, [], RULES)
    first = propose(CHAIN, chain, RULES, EVERYTHING)
    assert first is not None and (first.step, first.collectors, first.tier) == (
        "time-wait",
        ("ss",),
        Tier.LIGHT,
    )
    chain = walk(CHAIN, [finding(TIME_WAIT, "fired")], RULES)
    then = propose(CHAIN, chain, RULES, EVERYTHING, {"ss"})
    assert then is not None and (then.step, then.collectors) == ("stacks", ("perf_record",))
    person = propose(CHAIN, chain, RULES, {Tier.LIGHT}, {"ss"})
    assert person is not None and person.step == "peer-slow", "what may not run is left out"


def test_nothing_is_proposed_once_all_is_settled() -> None:
    settled = [finding(TIME_WAIT, "fired"), finding(SEARCH, "fired")]
    chain = walk(CHAIN, settled, RULES, {"peer-slow": "refutes"})
    assert propose(CHAIN, chain, RULES, EVERYTHING) is None


def test_a_collector_that_did_not_come_home_is_not_asked_again() -> None:
    chain = walk(CHAIN, [finding(TIME_WAIT, "fired")], RULES, {"peer-slow": "refutes"})
    assert propose(CHAIN, chain, RULES, EVERYTHING, {"ss", "perf_record"}) is None


NAMES = [f"s{number}" for number in range(6)]


@given(st.data())
def test_every_walk_ends_and_passes_no_step_twice(data: st.DataObject) -> None:
    targets = st.sampled_from([*NAMES, "end", "playbook:other"])
    ways = st.fixed_dictionaries({"otherwise": targets}, optional={"supports": targets, "refutes": targets})
    steps = tuple(Step(name, T, "search", data.draw(ways), look=T) for name in NAMES)
    verdicts = st.sampled_from(["supports", "refutes", "inconclusive", "not_collected"])
    said = data.draw(st.dictionaries(st.sampled_from(NAMES), verdicts))
    chain = walk(replace(CHAIN, steps=steps), [], RULES, said)
    assert len(set(chain.path)) == len(chain.path) <= len(NAMES)
    assert set(chain.gaps) <= set(chain.path)
    proposed = propose(replace(CHAIN, steps=steps), chain, RULES, EVERYTHING)
    assert proposed is None or chain.answers[proposed.step].verdict == "not_collected"
