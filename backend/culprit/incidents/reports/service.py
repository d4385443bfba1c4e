"""Drafts of reports."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.redaction.kinds import KINDS, PRESETS
from culprit.incidents.records import journal
from culprit.incidents.reports import freeze, queries
from culprit.incidents.reports.content import draft
from culprit.incidents.reports.requests import ReportCreate, ReportUpdate, VersionRequest
from culprit.incidents.responses import incident as read
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.clock import utc_now
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.reports.report import Report
from culprit.infra.models.reports.report_version import ReportVersion
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError

MAX_REPORTS = 100
"""Maximum number of reports of an incident."""


def get_report(session: Session, actor: Actor, report_id: UUID, *, lock: bool = False) -> Report:
    """Return a report visible to the actor, or raise NotFoundError."""
    authorize(actor, "report.read")
    report = queries.find_report(session, actor, report_id, lock=lock)
    if report is None:
        raise NotFoundError("report.not_found")
    return report


def lock_report(session: Session, actor: Actor, report_id: UUID, version: int) -> Report:
    """Lock a report for a change by a user who saw this version.

    Raises NotFoundError, ForbiddenError, ConflictError.
    """
    authorize(actor, "report.edit")
    report = get_report(session, actor, report_id, lock=True)
    journal.require_covering_scope(session, actor, session.get_one(Incident, report.incident_id))
    if report.version != version:
        raise ConflictError("report.changed", version=report.version)
    return report


def create_report(session: Session, actor: Actor, incident_id: UUID, body: ReportCreate) -> Report:
    """Create a draft; its summary, impact and times are written from the data of the incident."""
    authorize(actor, "report.edit")
    incident = journal.get_incident(session, actor, incident_id)
    journal.require_covering_scope(session, actor, incident)
    count = queries.count_reports(session, incident.id)
    if count >= MAX_REPORTS:
        raise ConflictError("report.too_many", most=MAX_REPORTS)
    whole = read.build_incident(session, actor, incident)
    report = Report(
        incident_id=incident.id,
        title=body.title or incident.title,
        language=body.language,
        zone=body.zone,
        preset=body.preset,
        kinds=_sort_kinds(PRESETS[body.preset]),
        words=[],
        follow_ups=[],
        summary=draft.write_summary(whole, body.language, body.zone),
        impact=draft.write_impact(whole, body.language, body.zone),
        detected_at=incident.created_at,
        mitigated_at=draft.find_mitigation_time(whole),
        created_by=actor.id,
    )
    session.add(report)
    session.flush()
    audit.record_action(session, actor, "report.create", "report", report.id, incident=incident.number)
    return report


def update_report(session: Session, actor: Actor, report_id: UUID, body: ReportUpdate) -> Report:
    """Update the draft."""
    item = lock_report(session, actor, report_id, body.version)
    changed = body.model_fields_set - {"version"}
    for name in changed - {"follow_ups", "kinds", "words", "preset"}:
        value = getattr(body, name)
        if value is None and name not in {"detected_at", "mitigated_at"}:
            raise InvalidRequestError("report.field_needed", field=name)
        setattr(item, name, value)
    if body.preset is not None and body.preset != item.preset:
        item.preset, item.kinds = body.preset, _sort_kinds(PRESETS[body.preset])
    if body.kinds is not None:
        item.kinds = _sort_kinds(body.kinds)
    if body.words is not None:
        item.words = list(dict.fromkeys(body.words))
    if body.follow_ups is not None:
        item.follow_ups = [each.model_dump(mode="json") for each in body.follow_ups]
    if item.detected_at and item.mitigated_at and item.mitigated_at < item.detected_at:
        raise InvalidRequestError("report.mitigated_before_detected")
    item.version += 1
    item.updated_at = utc_now()
    session.flush()
    return item


def freeze_now(
    session: Session, actor: Actor, store: ArtifactStore, report_id: UUID, body: VersionRequest
) -> ReportVersion:
    """Freeze the current content of the draft and the incident."""
    return freeze.freeze_report(session, actor, store, lock_report(session, actor, report_id, body.version))


def _sort_kinds(kinds: Collection[str]) -> list[str]:
    return [kind for kind in KINDS if kind in kinds]
