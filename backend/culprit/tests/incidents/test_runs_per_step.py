"""The runs and rules on which the answers of an evidence chain depend."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from culprit.domain.playbooks.merge import Evidence, RunEvaluation, merge_hosts
from culprit.domain.playbooks.model import Playbook, PlaybookHypothesis, PlaybookStep
from culprit.domain.rules.finding import Finding, Number
from culprit.domain.rules.registry import RULES
from culprit.incidents.records.run_finding_queries import list_findings, list_unevaluated_findings
from culprit.incidents.records.run_findings import load_run_findings, select_runs_per_rule
from culprit.tests.support.incidents import DOUBT, MISSING, evaluated, host_maker
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Text

T = Text("it", "它")
TWO = ("F-NET-TIMEWAIT-PRESSURE", "F-FLAME-INET-HASH-CONNECT")
BOOK = Playbook(
    "ports", "case", T, T, (T,), (T,), (PlaybookHypothesis("search", T),),
    (PlaybookStep("a", T, "search", {"otherwise": "b"}, TWO[0], not_matched="refutes"),
     PlaybookStep("b", T, "search", {"otherwise": "end"}, TWO[1], not_matched="refutes")),
)  # fmt: skip
STATES = st.sampled_from(["matched", "not_matched", "inconclusive", "not_evaluated", "doubted", ""])


def make_findings(rule: str, state: str) -> tuple[Finding, ...]:
    if not state:
        return ()
    reason = {"inconclusive": DOUBT, "not_evaluated": MISSING, "doubted": MISSING}.get(state)
    numbers = () if state == "not_evaluated" else (Number("x", 1.0, "pct", ">", 5.0, ()),)
    stored = "not_evaluated" if state == "doubted" else state
    return (Finding(rule, stored, "warn", RULES[rule].strength, (), numbers, reason),)  # type: ignore[arg-type]


@given(st.lists(st.lists(st.tuples(STATES, STATES), max_size=4), min_size=1, max_size=3))
def test_chain_of_loaded_runs_equals_chain_of_all_runs(
    hosts: Sequence[Sequence[tuple[str, str]]],
) -> None:
    names = [f"h{at}" for at in range(len(hosts))]
    runs = {
        host: [(UUID(int=at * 10 + n), dict(zip(TWO, states, strict=True))) for n, states in enumerate(mine)]
        for at, (host, mine) in enumerate(zip(names, hosts, strict=True))
    }
    everything = {
        host: [
            RunEvaluation(str(run), {rule: make_findings(rule, state) for rule, state in states.items()})
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
    runs_per_rule = select_runs_per_rule(
        [[run for run, _ in mine] for mine in runs.values()], answered, unsaid, TWO
    )
    narrowed = {
        host: [
            RunEvaluation(
                item.run,
                {
                    rule: each
                    for rule, each in item.findings.items()
                    if (UUID(item.run), rule) in runs_per_rule
                },
            )
            for item in mine
        ]
        for host, mine in everything.items()
    }
    whole, less = (
        merge_hosts(BOOK, names, names, Evidence(everything), RULES) for everything in (everything, narrowed)
    )
    assert whole == less
    assert len(runs_per_rule) <= len(TWO) * len(hosts)


def test_only_the_newest_answer_of_each_rule_is_read(db) -> None:
    host = host_maker(db)("web1")
    old = evaluated(db, host, {TWO[0]: "matched", TWO[1]: "not_matched"}, t0_ns=1)
    new = evaluated(db, host, {TWO[0]: "not_matched", TWO[1]: "not_evaluated"}, t0_ns=2)

    class Row:
        def __init__(self, run) -> None:
            self.run_id, self.host_id = run.run_id, run.host_id

    with db.sessions() as session:
        [first, second] = load_run_findings(session, [Row(new), Row(old)], TWO)[str(host)]
        assert [item.state for item in first.findings[TWO[0]]] == ["not_matched"]
        assert [item.state for item in second.findings[TWO[1]]] == ["not_matched"]
        assert (len(first.findings), len(second.findings)) == (1, 1)
        both = [old.run_id, new.run_id]
        assert (
            len(list_findings(session, both, TWO)) + len(list_unevaluated_findings(session, both, TWO)) == 4
        )
