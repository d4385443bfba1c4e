"""Load the findings of the runs of an incident, of each run only those that its steps use.

A step uses the newest run of a host that answers it, so most findings are not needed. The names of the evaluated rules
are loaded first, then the findings of the selected runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.domain.playbooks.merge import RunEvaluation
from culprit.domain.rules.finding import Finding
from culprit.domain.rules.json_form import finding_from_json
from culprit.incidents.records import run_finding_queries as queries
from culprit.incidents.records.queries import Rows

STORED = ("rule", "state", "severity", "strength", "subject", "numbers", "reason", "detail")
RulesByRun = Mapping[UUID, Collection[str]]
RunRules = set[tuple[UUID, str]]


def load_run_findings(session: Session, runs: Rows, rules: Collection[str]) -> dict[str, list[RunEvaluation]]:
    """Return the evaluations by host, the newest run first."""
    by_host: dict[str, list[UUID]] = defaultdict(list)
    for run in runs:
        by_host[str(run.host_id)].append(run.run_id)
    requested = _build_request(session, by_host.values(), rules)
    message = _load_finding_texts(session, requested)
    return {
        host: [
            RunEvaluation(str(run), {rule: tuple(result) for rule, result in message[run].items()})
            for run in mine
        ]
        for host, mine in by_host.items()
    }


def _build_request(session: Session, hosts: Iterable[Sequence[UUID]], rules: Collection[str]) -> RunRules:
    hosts = list(hosts)
    ids = [run for runs in hosts for run in runs]
    if not ids or not rules:
        return set()
    answered: dict[UUID, set[str]] = defaultdict(set)
    silent: dict[UUID, set[str]] = {}
    for row in queries.list_matched_rules(session, ids, rules):
        answered[row.run_id].add(row.rule)
    for row in queries.list_rule_summaries(session, ids):
        answered[row.run_id].update(row.not_matched, row.doubted)
        silent[row.run_id] = set(row.not_evaluated)
    return select_runs_per_rule(hosts, answered, silent, rules)


def select_runs_per_rule(
    hosts: Iterable[Sequence[UUID]], answered: RulesByRun, silent: RulesByRun, rules: Collection[str]
) -> RunRules:
    """Select the run of each rule and host: the newest that answers, else the newest with a reason."""
    run_rules: RunRules = set()
    for runs in hosts:
        left, why = set(rules), dict[str, UUID]()
        for run in runs:
            now = left.intersection(answered.get(run, ()))
            run_rules.update((run, rule) for rule in now)
            left -= now
            for rule in left.intersection(silent.get(run, ())):
                why.setdefault(rule, run)
        run_rules.update((run, rule) for rule, run in why.items() if rule in left)
    return run_rules


def _load_finding_texts(session: Session, run_rules: RunRules) -> dict[UUID, dict[str, list[Finding]]]:
    findings: dict[UUID, dict[str, list[Finding]]] = defaultdict(lambda: defaultdict(list))
    if not run_rules:
        return findings
    ids, rules = {run for run, _ in run_rules}, {rule for _, rule in run_rules}
    for row in queries.list_findings(session, ids, rules):
        if (row.run_id, row.rule) in run_rules:
            findings[row.run_id][row.rule].append(
                finding_from_json({name: getattr(row, name) for name in STORED})
            )
    for unevaluated_finding in queries.list_unevaluated_findings(session, ids, rules):
        if (unevaluated_finding.run_id, unevaluated_finding.finding["rule"]) in run_rules:
            findings[unevaluated_finding.run_id][unevaluated_finding.finding["rule"]].append(
                finding_from_json(unevaluated_finding.finding)
            )
    return findings
