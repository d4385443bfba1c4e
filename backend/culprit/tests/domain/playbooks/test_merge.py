"""One answer out of several hosts and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from culprit.core.playbooks.contract import Hypothesis, Playbook, Step, Verdict
from culprit.core.playbooks.engine import walk
from culprit.core.playbooks.merge import (
    LOUDEST,
    Evidence,
    Heard,
    Place,
    Spoken,
    Walked,
    gaps,
    next_step,
    over,
    together,
)
from culprit.core.rules.contract import Finding, Grade, Number
from culprit.core.rules.registry import RULES
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Sentence, Text, Tier

T = Text("it", "它")
TIME_WAIT, SEARCH = "F-NET-TIMEWAIT-PRESSURE", "F-FLAME-INET-HASH-CONNECT"
ALL_TIERS = frozenset({Tier.LIGHT, Tier.STANDARD})
MISSING = Sentence("missing.not_collected", {"collector": "perf_record"})
DOUBT = Sentence("doubt.between", {"samples": 12, "low": 1.0, "high": 30.0})
BOOK = Playbook(
    "ports", "case", T, T, (T,), (T,),
    (Hypothesis("search", T, "timewait-port-search"), Hypothesis("peer", T, "slow-dependency")),
    (
        Step("time-wait", T, "search", {"refutes": "peer-slow", "otherwise": "stacks"}, TIME_WAIT, quiet="refutes"),
        Step("stacks", T, "search", {"supports": "end", "otherwise": "peer-slow"}, SEARCH, quiet="refutes"),
        Step("peer-slow", T, "peer", {"otherwise": "end"}, look=T),
    ),
)  # fmt: skip
HOSTS = ("a", "b")


def finding(rule: str, state: str) -> Finding:
    reason = {"inconclusive": DOUBT, "not_evaluated": MISSING}.get(state)
    numbers = () if state == "not_evaluated" else (Number("x", 1.0, "pct", ">", 5.0, ()),)
    return Finding(rule, state, "warn", RULES[rule].grade, (), numbers, reason)  # type: ignore[arg-type]


def run(name: str, **states: str) -> Heard:
    rules = {"time_wait": TIME_WAIT, "search": SEARCH}
    return Heard(name, {rules[key]: (finding(rules[key], state),) for key, state in states.items()})


def said(
    verdict: Verdict, step: str = "stacks", host: str | None = None, who: str = "ada", at: float = 1
) -> Spoken:
    return Spoken(f"{who}{at}", f"ports/{step}", host, verdict, who, at)


def walked(
    heard: dict[str, list[Heard]],
    spoken: Sequence[Spoken] = (),
    muted: frozenset[tuple[str, str]] = frozenset(),
) -> Walked:
    return over(BOOK, HOSTS, HOSTS, Evidence(heard, spoken, muted), RULES)


def test_the_newest_run_that_answers_a_step_counts_for_it() -> None:
    found = walked(
        {"a": [run("new", search="fired"), run("old", time_wait="fired", search="quiet")], "b": []}
    ).hosts
    assert (found["time-wait"][0].run, found["stacks"][0].run) == ("old", "new")
    assert found["stacks"][0].answer.verdict == "supports"
    assert found["stacks"][1].run is None and found["stacks"][1].answer.verdict == "not_collected"


def test_a_run_that_says_nothing_takes_no_answer_away() -> None:
    found = walked({"a": [run("new", search="not_evaluated"), run("old", search="quiet")], "b": []}).hosts
    assert found["stacks"][0].run == "old" and found["stacks"][0].answer.verdict == "refutes"
    found = walked({"a": [run("new", search="not_evaluated")], "b": []}).hosts
    assert found["stacks"][0].run == "new" and found["stacks"][0].answer.reason == MISSING


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
def test_silence_refutes_only_where_everybody_was_asked(
    verdicts: tuple[Verdict, ...], expected: Verdict
) -> None:
    assert together(verdicts) == expected


@given(st.lists(st.sampled_from(LOUDEST)))
def test_the_order_of_hosts_changes_nothing(verdicts: list[Verdict]) -> None:
    assert together(verdicts) == together(verdicts[::-1]) == together({*verdicts})
    assert together(verdicts) in {*verdicts, "not_collected"}
    assert together(verdicts) != "refutes" or set(verdicts) == {"refutes"}


def test_a_person_stands_above_the_rule_and_the_disagreement_is_kept() -> None:
    found = walked({"a": [run("r", search="fired")], "b": [run("q", search="quiet")]}, [said("refutes")])
    first, second = found.hosts["stacks"]
    assert (
        first.answer.by == "person" and first.answer.verdict == "refutes" and first.rule.verdict == "supports"
    )
    assert first.disagrees and not second.disagrees
    assert found.chain.answers["stacks"].verdict == "refutes"


def test_what_was_said_of_one_host_stands_above_what_was_said_of_all() -> None:
    spoken = [said("supports", host="a", at=1), said("refutes", at=2)]
    first, second = walked({"a": [], "b": []}, spoken).hosts["stacks"]
    assert (first.answer.verdict, second.answer.verdict) == ("supports", "refutes")


def test_two_people_who_disagree_are_seen_and_one_who_changed_their_mind_is_not() -> None:
    two = walked({}, [said("supports", who="ada", at=1), said("refutes", who="bob", at=2)]).hosts["stacks"][0]
    assert two.disagrees and two.answer.verdict == "refutes"
    one = walked({}, [said("supports", who="ada", at=1), said("refutes", who="ada", at=2)]).hosts["stacks"][0]
    assert not one.disagrees and one.answer.verdict == "refutes"


def test_a_persons_verdict_is_no_stronger_than_the_numbers_of_its_rule() -> None:
    found = walked({}, [said("supports", "time-wait"), said("supports", "peer-slow")])
    assert found.chain.answers["time-wait"].grade is RULES[TIME_WAIT].grade
    assert found.chain.answers["peer-slow"].grade is Grade.MECHANISM


def test_a_muted_finding_is_shown_and_counts_for_nothing() -> None:
    found = walked({"a": [run("r", search="fired")], "b": []}, muted=frozenset({("a", SEARCH)})).hosts[
        "stacks"
    ][0]
    assert found.answer.verdict == "inconclusive" and [one.rule for one in found.muted] == [SEARCH]
    assert found.answer.reason is not None and found.answer.reason.key == "playbook.muted"
    quiet = walked({"a": [run("r", search="quiet")], "b": []}, muted=frozenset({("a", SEARCH)})).hosts[
        "stacks"
    ][0]
    assert quiet.answer.verdict == "refutes" and not quiet.muted


def test_a_rule_that_is_no_more_answers_nothing_and_is_not_proposed() -> None:
    gone = replace(BOOK, steps=(replace(BOOK.steps[1], finding="F-GONE", then={"otherwise": "end"}),))
    found = over(gone, HOSTS, HOSTS, Evidence({}, [said("supports")]), RULES)
    assert found.hosts["stacks"][0].rule.reason == Sentence("playbook.rule_gone", {"rule": "F-GONE"})
    assert found.chain.answers["stacks"].grade is Grade.CONTEXT
    assert next_step([over(gone, HOSTS, HOSTS, Evidence({}), RULES)], places(), (), (), RULES) is None


@given(
    st.sampled_from(["fired", "quiet", "inconclusive", "not_evaluated"]), st.sampled_from(["fired", "quiet"])
)
def test_one_host_with_one_run_is_walked_as_before(search: str, time_wait: str) -> None:
    heard = run("r", search=search, time_wait=time_wait)
    alone = over(BOOK, ("a",), ("a",), Evidence({"a": [heard]}), RULES).chain
    plain = walk(BOOK, [one for each in heard.findings.values() for one in each], RULES)
    assert (alone.path, alone.gaps, alone.leads_to) == (plain.path, plain.gaps, plain.leads_to)
    for name, stand in plain.stands.items():
        assert alone.stands[name].standing == stand.standing and alone.stands[name].grade == stand.grade


def test_a_host_that_does_not_count_is_answered_for_and_walks_nothing() -> None:
    found = over(BOOK, HOSTS, ("a",), Evidence({"b": [run("r", search="fired")]}), RULES)
    assert found.hosts["stacks"][1].answer.verdict == "supports"
    assert found.chain.answers["stacks"].verdict == "not_collected"


def places(*tried: str, allowed: frozenset[Tier] = ALL_TIERS) -> list[Place]:
    return [Place(host, allowed, frozenset(tried)) for host in HOSTS]


def test_what_is_proposed_is_missing_on_that_host() -> None:
    found = walked({"a": [run("r", time_wait="fired", search="inconclusive")], "b": []})
    step = next_step([found], places(), (), (), RULES)
    assert step is not None and step.host == "b" and step.proposal.collectors


def test_nothing_is_asked_twice_of_a_host_nor_of_one_that_cannot_be_reached() -> None:
    found = walked({"a": [], "b": []})
    nowhere = next_step([found], places(allowed=frozenset()), (), (), RULES)
    assert nowhere is not None and nowhere.proposal.step == "peer-slow" and not nowhere.proposal.collectors


def test_of_decided_hypotheses_only_what_is_missing_on_the_path_is_asked() -> None:
    found = walked({"a": [], "b": []})
    step = next_step([found], places(), ("ports/search", "ports/peer"), (), RULES)
    assert step is not None and step.proposal.why.key == "next.gap"
    waived = tuple(f"ports/{one.id}" for one in BOOK.steps)
    assert next_step([found], places(), ("ports/search", "ports/peer"), waived, RULES) is None
    assert gaps(found, waived) == () and set(gaps(found, ())) <= set(waived)
