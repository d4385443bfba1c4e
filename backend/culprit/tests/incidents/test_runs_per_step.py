"""Which words of which runs a chain rests on."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from culprit.core.playbooks.contract import Hypothesis, Playbook, Step
from culprit.core.playbooks.merge import Evidence, Heard, over
from culprit.core.rules.contract import Finding, Number
from culprit.core.rules.registry import RULES
from culprit.incidents.heard import heard, telling
from culprit.incidents.heard_queries import findings, silent
from culprit.tests.support.incidents import DOUBT, MISSING, evaluated, host_maker
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Text

T = Text("it", "它")
TWO = ("F-NET-TIMEWAIT-PRESSURE", "F-FLAME-INET-HASH-CONNECT")
BOOK = Playbook(
    "ports", "case", T, T, (T,), (T,), (Hypothesis("search", T),),
    (Step("a", T, "search", {"otherwise": "b"}, TWO[0], quiet="refutes"),
     Step("b", T, "search", {"otherwise": "end"}, TWO[1], quiet="refutes")),
)  # fmt: skip
STATES = st.sampled_from(["fired", "quiet", "inconclusive", "not_evaluated", "doubted", ""])


def said(rule: str, state: str) -> tuple[Finding, ...]:
    if not state:
        return ()
    reason = {"inconclusive": DOUBT, "not_evaluated": MISSING, "doubted": MISSING}.get(state)
    numbers = () if state == "not_evaluated" else (Number("x", 1.0, "pct", ">", 5.0, ()),)
    stored = "not_evaluated" if state == "doubted" else state
    return (Finding(rule, stored, "warn", RULES[rule].grade, (), numbers, reason),)  # type: ignore[arg-type]


@given(st.lists(st.lists(st.tuples(STATES, STATES), max_size=4), min_size=1, max_size=3))
def test_a_chain_over_what_is_told_is_the_chain_over_everything(
    hosts: Sequence[Sequence[tuple[str, str]]],
) -> None:
    names = [f"h{at}" for at in range(len(hosts))]
    runs = {
        host: [(UUID(int=at * 10 + n), dict(zip(TWO, states, strict=True))) for n, states in enumerate(mine)]
        for at, (host, mine) in enumerate(zip(names, hosts, strict=True))
    }
    everything = {
        host: [
            Heard(str(run), {rule: said(rule, state) for rule, state in states.items()})
            for run, states in mine
        ]
        for host, mine in runs.items()
    }
    flat = {run: states for mine in runs.values() for run, states in mine}
    answered = {
        run: [rule for rule, state in states.items() if state not in {"", "not_evaluated"}]
        for run, states in flat.items()
    }
    unsaid = {
        run: [rule for rule, state in states.items() if state in {"not_evaluated", "doubted"}]
        for run, states in flat.items()
    }
    told = telling([[run for run, _ in mine] for mine in runs.values()], answered, unsaid, TWO)
    narrowed = {
        host: [
            Heard(
                one.run, {rule: each for rule, each in one.findings.items() if (UUID(one.run), rule) in told}
            )
            for one in mine
        ]
        for host, mine in everything.items()
    }
    whole, less = (over(BOOK, names, names, Evidence(found), RULES) for found in (everything, narrowed))
    assert whole == less
    assert len(told) <= len(TWO) * len(hosts)


def test_only_the_newest_answer_of_each_rule_is_read(db) -> None:
    host = host_maker(db)("web1")
    old = evaluated(db, host, {TWO[0]: "fired", TWO[1]: "quiet"}, t0_ns=1)
    new = evaluated(db, host, {TWO[0]: "quiet", TWO[1]: "not_evaluated"}, t0_ns=2)

    class Row:
        def __init__(self, run) -> None:
            self.run_id, self.host_id = run.run_id, run.host_id

    with db.sessions() as session:
        [first, second] = heard(session, [Row(new), Row(old)], TWO)[str(host)]
        assert [one.state for one in first.findings[TWO[0]]] == ["quiet"]
        assert [one.state for one in second.findings[TWO[1]]] == ["quiet"]
        assert (len(first.findings), len(second.findings)) == (1, 1)
        both = [old.run_id, new.run_id]
        assert len(findings(session, both, TWO)) + len(silent(session, both, TWO)) == 4
