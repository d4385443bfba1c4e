"""Drafts of reports: what people write before it is frozen."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core.redaction.kinds import KINDS, PRESETS
from culprit.incidents import journal
from culprit.infra.artifacts import ArtifactStore
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Invalid, NotFound
from culprit.models import Incident, Report, ReportVersion
from culprit.reports import freeze, queries
from culprit.reports.given import ReportCreate, ReportPatch, Which

MOST = 100
"""Reports of one incident."""


def found(session: Session, actor: Actor, report_id: UUID, *, lock: bool = False) -> Report:
    """A report that exists for this actor. Raises NotFound."""
    policy(actor, "report.read")
    one = queries.report(session, actor, report_id, lock=lock)
    if one is None:
        raise NotFound("report.not_found")
    return one


def claim(session: Session, actor: Actor, report_id: UUID, version: int) -> Report:
    """The report, locked, as somebody may change it who saw that version. Raises NotFound, Forbidden, Conflict."""
    policy(actor, "report.edit")
    one = found(session, actor, report_id, lock=True)
    journal.require_covering_scope(session, actor, session.get_one(Incident, one.incident_id))
    if one.version != version:
        raise Conflict("report.changed", version=one.version)
    return one


def create(session: Session, actor: Actor, incident_id: UUID, body: ReportCreate) -> Report:
    """A new draft, with what the incident already knows."""
    policy(actor, "report.edit")
    incident = journal.found(session, actor, incident_id)
    journal.require_covering_scope(session, actor, incident)
    count = session.scalar(select(func.count()).where(Report.incident_id == incident.id)) or 0
    if count >= MOST:
        raise Conflict("report.too_many", most=MOST)
    one = Report(
        incident_id=incident.id,
        title=body.title or incident.title,
        language=body.language,
        zone=body.zone,
        preset=body.preset,
        kinds=_ordered(PRESETS[body.preset]),
        words=[],
        follow_ups=[],
        detected_at=incident.created_at,
        created_by=actor.id,
    )
    session.add(one)
    session.flush()
    audit.record(session, actor, "report.create", "report", one.id, incident=incident.number)
    return one


def patch(session: Session, actor: Actor, report_id: UUID, body: ReportPatch) -> Report:
    """The draft is written on."""
    one = claim(session, actor, report_id, body.version)
    changed = body.model_fields_set - {"version"}
    for name in changed - {"follow_ups", "kinds", "words", "preset"}:
        value = getattr(body, name)
        if value is None and name not in {"detected_at", "mitigated_at"}:
            raise Invalid("report.field_needed", field=name)
        setattr(one, name, value)
    if body.preset is not None and body.preset != one.preset:
        one.preset, one.kinds = body.preset, _ordered(PRESETS[body.preset])
    if body.kinds is not None:
        one.kinds = _ordered(body.kinds)
    if body.words is not None:
        one.words = list(dict.fromkeys(body.words))
    if body.follow_ups is not None:
        one.follow_ups = [each.model_dump(mode="json") for each in body.follow_ups]
    if one.detected_at and one.mitigated_at and one.mitigated_at < one.detected_at:
        raise Invalid("report.mitigated_before_detected")
    one.version += 1
    one.updated_at = now()
    session.flush()
    return one


def freeze_now(
    session: Session, actor: Actor, store: ArtifactStore, report_id: UUID, body: Which
) -> ReportVersion:
    """What the draft and the incident say now, for ever."""
    return freeze.freeze(session, actor, store, claim(session, actor, report_id, body.version))


def _ordered(kinds: Collection[str]) -> list[str]:
    return [one for one in KINDS if one in kinds]
