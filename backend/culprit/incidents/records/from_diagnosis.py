"""Collect hosts, runs, causes and playbooks for an incident from a diagnosis or from runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.analysis.diagnoses import service as diagnoses
from culprit.analysis.playbooks.library import load_catalog
from culprit.captures.schemas import ScopeRequest
from culprit.domain.rules.finding import STRENGTH_ORDER
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.rule import MetricReading
from culprit.incidents.records import queries
from culprit.incidents.records.requests import IncidentHostRequest
from culprit.web.errors import NotFoundError

#: Playbooks attached automatically; users can add more.
MAX_PLAYBOOKS = 3
#: The scope if that of the capture cannot be reused.
WHOLE_HOST = ScopeRequest()
KINDS = ("process", "cgroup", "unit", "container", "port")


@dataclass(frozen=True, slots=True)
class IncidentSeed:
    """Hosts with scopes, runs, named causes, and the playbooks that explain those causes."""

    hosts: Sequence[IncidentHostRequest] = ()
    runs: Sequence[UUID] = ()
    causes: Sequence[str] = ()
    playbooks: Sequence[str] = ()
    began: datetime | None = None


@dataclass(slots=True)
class _SeedBuilder:
    hosts: dict[UUID, IncidentHostRequest] = field(default_factory=dict)
    runs: dict[UUID, int | None] = field(default_factory=dict)
    causes: dict[str, None] = field(default_factory=dict)


def build_seed(
    session: Session, actor: Actor, diagnosis_id: UUID | None, run_ids: Sequence[UUID]
) -> IncidentSeed:
    """Return the seed, or raise NotFoundError if a run or the diagnosis is not visible to this actor."""
    builder = _SeedBuilder()
    all_run_ids = list(run_ids)
    if diagnosis_id is not None:
        diagnosis = diagnoses.get_diagnosis(session, actor, diagnosis_id)
        builder.hosts[diagnosis.host_id] = IncidentHostRequest(
            host_id=diagnosis.host_id, scope=_build_scope_request(diagnosis.scope), role="suspect"
        )
        result = diagnosis.result or {}
        builder.causes.update(dict.fromkeys(item["id"] for item in result.get("causes", ())))
        stages = [UUID(stage["capture_id"]) for stage in diagnosis.stages]
        stage_runs = queries.list_host_run_ids(session, stages, diagnosis.host_id)
        all_run_ids = [*stage_runs, *all_run_ids]
    _add_runs(session, actor, all_run_ids, builder)
    causes = [cause for cause in builder.causes if cause in CAUSES]
    begins = [run for run in builder.runs.values() if run is not None]
    return IncidentSeed(
        list(builder.hosts.values()),
        list(builder.runs),
        causes,
        select_playbooks(causes),
        datetime.fromtimestamp(min(begins) / 1e9, UTC) if begins else None,
    )


def _add_runs(session: Session, actor: Actor, run_ids: Sequence[UUID], builder: _SeedBuilder) -> None:
    rows = queries.list_rankings(session, actor, run_ids)
    if len(rows) != len(set(run_ids)):
        raise NotFoundError("run.not_found")
    for row in rows:
        builder.runs[row.id] = row.t0_ns
        if row.host_id is not None:
            builder.hosts.setdefault(
                row.host_id, IncidentHostRequest(host_id=row.host_id, scope=_build_scope_request(row.scope))
            )
        for cause in (row.ranking or {}).get("causes", ()):
            builder.causes.setdefault(cause["id"], None)


def _build_scope_request(stored: dict[str, str]) -> ScopeRequest:
    """Return the scope of a capture; the whole host for a declared service, which is resolved at every capture."""
    if stored.get("kind") not in KINDS:
        return WHOLE_HOST
    return ScopeRequest.model_validate({"kind": stored["kind"], "value": stored.get("value", "")})


def select_playbooks(causes: Sequence[str]) -> list[str]:
    """Select the best playbook of each cause, at most MAX_PLAYBOOKS in total.

    Best is the playbook with the cause as its first hypothesis; cases before methods; then the shortest.
    """
    results: dict[str, None] = {}
    for cause in causes:
        those = [
            (
                [each.cause for each in item.hypotheses].index(cause),
                item.kind != "case",
                len(item.steps),
                name,
            )
            for name, item in load_catalog().items()
            if item.steps and any(each.cause == cause for each in item.hypotheses)
        ]
        if those:
            results[min(those)[-1]] = None
    return list(results)[:MAX_PLAYBOOKS]


def select_primary_number(cause: str) -> dict[str, str] | None:
    """Select the number that judges a fix of a cause without a playbook: the measure of its strongest rule."""
    rules = [rule for rule in RULES.values() if cause in rule.causes]
    best = max(rules, key=lambda rule: STRENGTH_ORDER[rule.strength], default=None)
    if best is None:
        return None
    read = best.measure.metric if isinstance(best.measure, MetricReading) else best.measure.id
    return {"read": read, "better": "lower" if best.op in {">", ">=", "=="} else "higher"}
