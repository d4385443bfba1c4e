"""Decisions about findings and thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from collectors.contract import Text
from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core.rules.cause import Cause
from culprit.core.rules.contract import Condition, Limit, Measure, Read, Rule
from culprit.core.rules.read import needs_of, title_of, unit_of
from culprit.core.rules.registry import CAUSES, RULES
from culprit.findings import queries
from culprit.findings.schemas import (
    BesideRead,
    CauseRead,
    FindingRead,
    HostFindingsRead,
    LimitRead,
    RankingRead,
    RuleRead,
    RunFindingsRead,
    Severity,
    TextRead,
    ThresholdRead,
    ThresholdSet,
)
from culprit.kit.errors import Invalid, NotFound
from culprit.models import Finding, Threshold


def of_run(session: Session, actor: Actor, run_id: UUID) -> RunFindingsRead:
    """Everything that rules said about a run. Raises NotFound."""
    policy(actor, "finding.read")
    if queries.run(session, actor, run_id) is None:
        raise NotFound("run.not_found")
    return RunFindingsRead(**_values(session, run_id))


def of_host(session: Session, actor: Actor, host_id: UUID) -> HostFindingsRead | None:
    """Everything that rules said about the newest run on a host; None where there is none. Raises NotFound."""
    policy(actor, "finding.read")
    if queries.host(session, actor, host_id) is None:
        raise NotFound("host.not_found")
    found = queries.newest_run(session, host_id)
    if found is None:
        return None
    run, capture = found
    return HostFindingsRead(**_values(session, run.id), run_ended_at=run.ended_at, plan=capture.plan)


def _values(session: Session, run_id: UUID) -> dict[str, object]:
    kept = queries.evaluation(session, run_id)
    return {
        "run_id": run_id,
        "evaluated_at": kept.at if kept else None,
        "elapsed_ms": kept.elapsed_ms if kept else None,
        "findings": [_finding(one) for one in queries.findings(session, run_id)],
        "quiet": [FindingRead(**one) for one in kept.quiet] if kept else [],
        "not_evaluated": [FindingRead(**one) for one in kept.not_evaluated] if kept else [],
        "ranking": RankingRead(**kept.ranking) if kept else RankingRead(),
    }


def _finding(row: Finding) -> FindingRead:
    return FindingRead.model_validate({name: getattr(row, name) for name in FindingRead.model_fields})


def rules() -> list[RuleRead]:
    """Every rule, by id."""
    return [_rule(one) for _, one in sorted(RULES.items())]


def causes(session: Session, actor: Actor) -> list[CauseRead]:
    """Every cause, by id."""
    policy(actor, "finding.read")
    counts = queries.outcomes(session)
    return [_cause(one, counts) for _, one in sorted(CAUSES.items())]


def _text(one: Text) -> TextRead:
    return TextRead(en=one.en, zh=one.zh)


def _rule(one: Rule) -> RuleRead:
    limits = [_limit(one.measure, one.op, limit, severity) for severity, limit in one.levels]
    limits += [_condition(condition) for condition in one.conditions()]
    return RuleRead(
        id=one.id,
        title=_text(one.title),
        says=_text(one.says),
        traps=_text(one.traps) if one.traps else None,
        grade=one.grade.value,
        measure=one.measure.id,
        unit=unit_of(one.measure),
        collectors=[list(names) for names in needs_of(one.measure)],
        limits=limits,
        beside=[
            BesideRead(measure=read.id, title=_text(title_of(read)), unit=unit_of(read))
            for read in one.beside
        ],
        causes=list(one.causes),
        refutes=list(one.refutes),
        refuted_by=list(one.refuted_by),
        source=one.source,
    )


def _condition(one: Condition) -> LimitRead:
    found = _limit(one.read, one.op, one.limit, None)
    return found.model_copy(update={"against": one.against})


def _limit(read: Read, op: str, limit: Limit, severity: Severity | None) -> LimitRead:
    return LimitRead(
        name=limit.name,
        measure=read.id,
        title=_text(read.title) if isinstance(read, Measure) else None,
        op=op,
        value=limit.value,
        unit=unit_of(read),
        source=limit.source,
        severity=severity,
        against="limit",
    )


def _cause(one: Cause, outcomes: Mapping[tuple[str, bool], int]) -> CauseRead:
    texts = {name: _text(getattr(one, name)) for name in ("title", "what", "fix", "risk", "verify")}
    return CauseRead(
        id=one.id,
        **texts,
        explains=list(one.explains),
        suspected_by=list(one.suspected_by),
        tested_by=list(one.tested_by),
        proven=bool(one.proven_by),
        rules=sorted(rule.id for rule in RULES.values() if one.id in rule.causes),
        right=outcomes.get((one.id, True), 0),
        wrong=outcomes.get((one.id, False), 0),
    )


def defaults() -> dict[str, float]:
    """Every threshold that can be set, with its default."""
    return {f"{rule.id}.{limit.name}": limit.value for rule in RULES.values() for limit in rule.limits()}


def thresholds(session: Session, actor: Actor) -> list[ThresholdRead]:
    """All that somebody set."""
    policy(actor, "finding.read")
    return [_threshold(row) for row in queries.thresholds(session, actor)]


def _threshold(row: Threshold) -> ThresholdRead:
    values = {name: getattr(row, name) for name in ThresholdRead.model_fields if name != "default"}
    return ThresholdRead(**values, default=defaults().get(row.name))


def set_threshold(session: Session, actor: Actor, wanted: ThresholdSet) -> ThresholdRead:
    """Set one, in the place of what was set there before. Raises Invalid for a limit that no rule has."""
    policy(actor, "threshold.manage")
    if wanted.name not in defaults():
        raise Invalid("threshold.unknown", name=wanted.name)
    if wanted.host_id is not None and queries.host(session, actor, wanted.host_id) is None:
        raise NotFound("host.not_found")
    place = (
        Threshold.name == wanted.name,
        func.coalesce(Threshold.label_name, "") == (wanted.label_name or ""),
        func.coalesce(Threshold.label_value, "") == (wanted.label_value or ""),
        Threshold.host_id.is_(None) if wanted.host_id is None else Threshold.host_id == wanted.host_id,
    )
    session.execute(delete(Threshold).where(*place))
    row = Threshold(**wanted.model_dump(), set_by=actor.id)
    session.add(row)
    session.flush()
    audit.record(session, actor, "threshold.set", "threshold", row.id, **wanted.model_dump(mode="json"))
    return _threshold(row)


def unset_threshold(session: Session, actor: Actor, threshold_id: UUID) -> None:
    """Take one back: the default holds again. Raises NotFound."""
    policy(actor, "threshold.manage")
    row = session.scalar(select(Threshold).where(Threshold.id == threshold_id))
    if row is None:
        raise NotFound("threshold.not_found")
    audit.record(session, actor, "threshold.unset", "threshold", row.id, name=row.name, value=row.value)
    session.delete(row)
