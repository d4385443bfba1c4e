"""Read findings, rules and causes; change thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import delete, func
from sqlalchemy.orm import Session

from collectors.contract import Text
from collectors.plans import PLANS
from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.analysis.findings import queries
from culprit.analysis.findings.schemas import (
    CauseResponse,
    FindingResponse,
    HostFindingsResponse,
    RankingResponse,
    RelatedNumberResponse,
    RuleResponse,
    RuleThresholdResponse,
    RunFindingsResponse,
    Severity,
    ThresholdOverrideRequest,
    ThresholdOverrideResponse,
)
from culprit.domain.rules.cause import Cause
from culprit.domain.rules.readings import get_required_collectors, get_title, get_unit
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.rule import Condition, Measure, Rule, RuleInput, Threshold
from culprit.infra.models.analysis.finding import StoredFinding
from culprit.infra.models.analysis.threshold import ThresholdOverride
from culprit.infra.models.captures.capture import Capture
from culprit.web.errors import InvalidRequestError, NotFoundError
from culprit.web.schemas import LocalizedText

#: Runs among which a complete one is searched; a playbook has fewer steps.
MAX_RUNS = 50


def get_run_findings(session: Session, actor: Actor, run_id: UUID) -> RunFindingsResponse:
    """Return all findings of a run, or raise NotFoundError."""
    authorize(actor, "finding.read")
    if queries.find_run(session, actor, run_id) is None:
        raise NotFoundError("run.not_found")
    return RunFindingsResponse(**_findings_fields(session, run_id))


def find_host_findings(session: Session, actor: Actor, host_id: UUID) -> HostFindingsResponse | None:
    """Return the findings of the newest complete run of a host, else of the newest one; None without any.

    A capture that answers one step is no statement about the host, so it does not replace a triage.

    Raises NotFoundError.
    """
    authorize(actor, "finding.read")
    if queries.find_host(session, actor, host_id) is None:
        raise NotFoundError("host.not_found")
    newest = queries.list_newest_runs(session, host_id, MAX_RUNS)
    if not newest:
        return None
    run, capture = next((item for item in newest if _is_complete(item[1])), newest[0])
    return HostFindingsResponse(
        **_findings_fields(session, run.id), run_ended_at=run.ended_at, plan=capture.plan
    )


def _is_complete(capture: Capture) -> bool:
    """Return whether a capture ran at least half of the collectors of a triage, whose list grows with versions."""
    triage = {collector.id for collector in PLANS["triage"].collectors}
    return 2 * len(triage.intersection(item["id"] for item in capture.collectors)) >= len(triage)


def _findings_fields(session: Session, run_id: UUID) -> dict[str, object]:
    stored = queries.find_evaluation(session, run_id)
    return {
        "run_id": run_id,
        "evaluated_at": stored.at if stored else None,
        "elapsed_ms": stored.elapsed_ms if stored else None,
        "findings": [_to_finding(item) for item in queries.list_findings(session, run_id)],
        "not_matched": [FindingResponse(**item) for item in stored.not_matched] if stored else [],
        "not_evaluated": [FindingResponse(**item) for item in stored.not_evaluated] if stored else [],
        "ranking": RankingResponse(**stored.ranking) if stored else RankingResponse(),
    }


def _to_finding(row: StoredFinding) -> FindingResponse:
    return FindingResponse.model_validate({name: getattr(row, name) for name in FindingResponse.model_fields})


def list_rules() -> list[RuleResponse]:
    """Return all rules, by id."""
    return [_to_rule(rule) for _, rule in sorted(RULES.items())]


def list_causes(session: Session, actor: Actor) -> list[CauseResponse]:
    """Return all causes, by id."""
    return build_causes(count_outcomes(session, actor))


def count_outcomes(session: Session, actor: Actor) -> dict[tuple[str, bool], int]:
    """Return how often each cause was confirmed (True) and rejected (False), by (cause, confirmed)."""
    authorize(actor, "finding.read")
    return queries.count_outcomes(session)


def build_causes(outcomes: Mapping[tuple[str, bool], int]) -> list[CauseResponse]:
    """Return all causes, by id, with these outcomes as of `count_outcomes`."""
    return [_to_cause(cause, outcomes) for _, cause in sorted(CAUSES.items())]


def _to_text(text: Text) -> LocalizedText:
    return LocalizedText(en=text.en, zh=text.zh)


def _to_rule(rule: Rule) -> RuleResponse:
    own_thresholds = [
        _to_threshold(rule.measure, rule.op, threshold, severity) for severity, threshold in rule.thresholds
    ]
    return RuleResponse(
        id=rule.id,
        title=_to_text(rule.title),
        summary=_to_text(rule.summary),
        caveats=_to_text(rule.caveats) if rule.caveats else None,
        strength=rule.strength.value,
        measure=rule.measure.id,
        unit=get_unit(rule.measure),
        collectors=[list(names) for names in get_required_collectors(rule.measure)],
        thresholds=[*own_thresholds, *map(_to_condition_threshold, rule.conditions())],
        related=[
            RelatedNumberResponse(measure=read.id, title=_to_text(get_title(read)), unit=get_unit(read))
            for read in rule.related
        ],
        causes=list(rule.causes),
        refutes=list(rule.refutes),
        refuted_by=list(rule.refuted_by),
        source=rule.source,
    )


def _to_condition_threshold(condition: Condition) -> RuleThresholdResponse:
    response = _to_threshold(condition.read, condition.op, condition.threshold, None)
    return response.model_copy(update={"against": condition.against})


def _to_threshold(
    read: RuleInput, op: str, threshold: Threshold, severity: Severity | None
) -> RuleThresholdResponse:
    return RuleThresholdResponse(
        name=threshold.name,
        measure=read.id,
        title=_to_text(read.title) if isinstance(read, Measure) else None,
        op=op,
        value=threshold.value,
        unit=get_unit(read),
        source=threshold.source,
        severity=severity,
        against="threshold",
    )


def _to_cause(cause: Cause, outcomes: Mapping[tuple[str, bool], int]) -> CauseResponse:
    texts = {name: _to_text(getattr(cause, name)) for name in ("title", "what", "fix", "risk", "verify")}
    return CauseResponse(
        id=cause.id,
        **texts,
        explains=list(cause.explains),
        suspected_by=sorted(rule.id for rule in RULES.values() if cause.id in rule.suspects),
        tested_by=list(cause.tested_by),
        proven=bool(cause.proven_by),
        rules=sorted(rule.id for rule in RULES.values() if cause.id in rule.causes),
        right=outcomes.get((cause.id, True), 0),
        wrong=outcomes.get((cause.id, False), 0),
    )


def collect_default_thresholds() -> dict[str, float]:
    """Return the default of each threshold, by `<rule>.<threshold>`."""
    return {
        f"{rule.id}.{threshold.name}": threshold.value
        for rule in RULES.values()
        for threshold in rule.all_thresholds()
    }


def list_overrides(session: Session, actor: Actor) -> list[ThresholdOverrideResponse]:
    """Return the overridden thresholds that the actor may see."""
    authorize(actor, "finding.read")
    return [_to_override(row) for row in queries.list_overrides(session, actor)]


def _to_override(row: ThresholdOverride) -> ThresholdOverrideResponse:
    names = ThresholdOverrideResponse.model_fields.keys() - {"default"}
    return ThresholdOverrideResponse(
        **{name: getattr(row, name) for name in names}, default=collect_default_thresholds().get(row.name)
    )


def set_threshold(
    session: Session, actor: Actor, request: ThresholdOverrideRequest
) -> ThresholdOverrideResponse:
    """Override a threshold and replace an earlier override of the same target.

    Raises InvalidRequestError for an unknown threshold, NotFoundError for an unknown host.
    """
    authorize(actor, "threshold.manage")
    if request.name not in collect_default_thresholds():
        raise InvalidRequestError("threshold.unknown", name=request.name)
    if request.host_id is not None and queries.find_host(session, actor, request.host_id) is None:
        raise NotFoundError("host.not_found")
    same_target = (
        ThresholdOverride.name == request.name,
        func.coalesce(ThresholdOverride.label_name, "") == (request.label_name or ""),
        func.coalesce(ThresholdOverride.label_value, "") == (request.label_value or ""),
        ThresholdOverride.host_id.is_(None)
        if request.host_id is None
        else ThresholdOverride.host_id == request.host_id,
    )
    session.execute(delete(ThresholdOverride).where(*same_target))
    row = ThresholdOverride(**request.model_dump(), set_by=actor.id)
    session.add(row)
    session.flush()
    audit.record_action(
        session, actor, "threshold.set", "threshold", row.id, **request.model_dump(mode="json")
    )
    return _to_override(row)


def reset_threshold(session: Session, actor: Actor, threshold_id: UUID) -> None:
    """Remove an override, so that the default applies again. Raises NotFoundError."""
    authorize(actor, "threshold.manage")
    row = queries.find_override(session, threshold_id)
    if row is None:
        raise NotFoundError("threshold.not_found")
    audit.record_action(
        session, actor, "threshold.unset", "threshold", row.id, name=row.name, value=row.value
    )
    session.delete(row)
