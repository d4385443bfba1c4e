"""Build fleet responses from rows: hosts, their newest evaluated runs, and the newest finding of every rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.orm import Session

from culprit import VERSION
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.analysis.fleet import queries
from culprit.analysis.fleet.queries import EvaluatedRun, HostRow, MatchRow, NonMatches
from culprit.analysis.fleet.schemas import FleetFindingResponse, FleetRuleResponse, FleetRunResponse
from culprit.domain.hosts.fleet import RuleResult, find_worst_severity
from culprit.domain.rules.readings import get_unit
from culprit.domain.rules.registry import RULES, USE_BY_RULE
from culprit.web.http.json_response import compute_etag
from culprit.web.schemas import LocalizedText

NO_RULES = NonMatches([], [], [])
Labels = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class FleetHostRow:
    """One host, its evaluated runs (newest first), and the newest finding of each rule."""

    row: HostRow
    runs: Sequence[EvaluatedRun]
    results: Mapping[str, RuleResult]

    def build_fields(self) -> dict[str, object]:
        """Return the fields of FleetHostResponse."""
        return {
            "id": self.row.id,
            "name": self.row.name,
            "labels": self.row.labels,
            "state": self.row.state,
            "runs": [
                FleetRunResponse(run_id=run.run_id, plan=run.plan, at=get_end_time(run)) for run in self.runs
            ],
            "worst": find_worst_severity(self.results.values()),
        }


def get_end_time(run: EvaluatedRun) -> datetime:
    """Return when the measurement of a run ended."""
    return datetime.fromtimestamp(run.t1_ns / 1e9, UTC)


@dataclass(frozen=True, slots=True)
class FleetSnapshot:
    """The hosts and the time of the last evaluation of each. It is cheap and determines every fleet response."""

    rows: Sequence[HostRow]
    total: int
    runs: Sequence[EvaluatedRun]

    def build_etag(self, *requested: object) -> str:
        """Return a tag that changes only when the response to `requested` changes for these visible hosts."""
        hexes = [(item.run_id.hex, item.evaluated_at.timestamp()) for item in self.runs]
        hosts = [(row.id.hex, row.name, row.labels, row.state) for row in self.rows]
        return compute_etag(VERSION, sorted(RULES), requested, hosts, self.total, hexes)


def load_snapshot(session: Session, actor: Actor, labels: Labels) -> FleetSnapshot:
    """Return the visible hosts with these labels and their newest runs; two SELECTs."""
    authorize(actor, "finding.read")
    rows, total = queries.list_hosts(session, actor, labels)
    return FleetSnapshot(rows, total, queries.list_evaluated_runs(session, [row.id for row in rows]))


def load_hosts(session: Session, snapshot: FleetSnapshot) -> tuple[list[FleetHostRow], int]:
    """Return these hosts with their findings, and the number of hosts left out; two more SELECTs."""
    rows, total = snapshot.rows, snapshot.total
    runs: dict[UUID, list[EvaluatedRun]] = {}
    for run in snapshot.runs:
        runs.setdefault(run.host_id, []).append(run)
    run_ids = [run.run_id for run in snapshot.runs]
    matched: dict[UUID, list[MatchRow]] = {}
    for item in queries.list_matches(session, run_ids):
        matched.setdefault(item.run_id, []).append(item)
    not_matched = queries.load_non_matches(session, run_ids)
    host_rows = [
        FleetHostRow(row, runs.get(row.id, ()), _select_results(runs.get(row.id, ()), matched, not_matched))
        for row in rows
    ]
    return host_rows, total - len(rows)


def _select_results(
    runs: Sequence[EvaluatedRun],
    matched: Mapping[UUID, Sequence[MatchRow]],
    not_matched: Mapping[UUID, NonMatches],
) -> dict[str, RuleResult]:
    """Return the newest finding of each rule. Findings of removed rules are left out."""
    rule_results: dict[str, RuleResult] = {}
    for index, run in enumerate(runs):
        for row in matched.get(run.run_id, ()):
            if row.rule in RULES and row.rule not in rule_results:
                rule_results[row.rule] = RuleResult(
                    row.rule, row.state, row.severity, RULES[row.rule].op, index, row.value, row.threshold,
                    row.subject, row.subjects,
                )  # fmt: skip
        non_matches = not_matched.get(run.run_id, NO_RULES)
        for name, value, threshold in zip(
            non_matches.rules, non_matches.values, non_matches.thresholds, strict=True
        ):
            if name not in rule_results and name in RULES:
                rule = RULES[name]
                rule_results[name] = RuleResult(
                    name, "not_matched", rule.thresholds[0][0], rule.op, index, value, threshold
                )
    return rule_results


def build_finding(rule_result: RuleResult) -> FleetFindingResponse:
    """Build the response of a finding."""
    return FleetFindingResponse(**build_finding_fields(rule_result))


def build_finding_fields(rule_result: RuleResult) -> dict[str, object]:
    """Return the fields of FleetFindingResponse."""
    return {
        "rule": rule_result.rule,
        "state": rule_result.state,
        "severity": rule_result.severity,
        "value": rule_result.value,
        "threshold": rule_result.threshold,
        "subject": dict(rule_result.subject),
        "subjects": rule_result.subjects,
        "run_index": rule_result.run_index,
    }


def describe_rules(ids: Iterable[str]) -> dict[str, FleetRuleResponse]:
    """Return the fields that display findings of these rules."""
    results = {}
    for rule_id in sorted(set(ids)):
        rule, use = RULES[rule_id], USE_BY_RULE.get(rule_id)
        results[rule_id] = FleetRuleResponse(
            title=LocalizedText(en=rule.title.en, zh=rule.title.zh),
            unit=get_unit(rule.measure),
            op=rule.op,
            strength=rule.strength.value,
            resource=use.resource if use else None,
            use_category=use.use_category if use else None,
        )
    return results
