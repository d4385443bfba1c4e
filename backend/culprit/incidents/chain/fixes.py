"""Record fixes and request their verification. Culprit does not change hosts."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.playbooks.model import Remediation
from culprit.incidents.records import journal, playbook_versions, queries
from culprit.incidents.records.requests import FixCreate, FixUpdate, VerificationCreate
from culprit.incidents.records.service import RESOURCE
from culprit.infra.db.clock import utc_now
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.hypothesis import Hypothesis
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.verification import Verification
from culprit.infra.task_queue import enqueue_after_commit
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError

TASK = "culprit.advance_verification"
#: Allowed difference between the clocks of users and servers.
MAX_CLOCK_DIFFERENCE = timedelta(minutes=5)
OPEN_STATES = ("before", "waiting", "collecting", "judging")


def create_fix(
    session: Session, actor: Actor, incident_id: UUID, fix_create: FixCreate
) -> tuple[Incident, UUID]:
    """Create a planned fix. Raises NotFoundError, ConflictError, InvalidRequestError."""
    incident = journal.lock_version(session, actor, incident_id, fix_create.version)
    hypothesis = _find_hypothesis(session, incident, fix_create.hypothesis_id)
    hosts = {host.id: link.role for link, host in queries.list_hosts(session, actor, incident.id)}
    if any(host_id not in hosts for host_id in fix_create.host_ids):
        raise InvalidRequestError("incident.no_host")
    texts = {name: getattr(fix_create, name).strip() for name in ("what", "command", "risk", "rollback")}
    if fix_create.remediation:
        texts = _fill_from_remediation(_find_remediation(session, incident, fix_create.remediation), texts)
    if not texts["what"]:
        raise InvalidRequestError("incident.fix_needs_what")
    if texts["command"] and not (texts["risk"] and texts["rollback"]):
        raise InvalidRequestError("incident.fix_needs_rollback")
    on = fix_create.host_ids or [item for item, role in hosts.items() if role == "suspect"]
    fix = Fix(
        incident_id=incident.id,
        hypothesis_id=hypothesis.id if hypothesis else None,
        remediation=fix_create.remediation,
        hosts=[str(item) for item in dict.fromkeys(on)],
        created_by=actor.id,
        **texts,
    )
    session.add(fix)
    session.flush()
    journal.append_entry(session, incident, actor, "fix_recorded", what=fix.what)
    audit.record_action(session, actor, "incident.fix", RESOURCE, incident.id, fix=str(fix.id), **texts)
    return incident, fix.id


def _find_hypothesis(session: Session, incident: Incident, uuid: UUID | None) -> Hypothesis | None:
    if uuid is None:
        return None
    for hypothesis in queries.list_hypotheses(session, incident.id):
        if hypothesis.id == uuid:
            return hypothesis
    raise InvalidRequestError("incident.no_hypothesis")


def _find_remediation(session: Session, incident: Incident, key: str) -> Remediation:
    book_id, _, name = key.partition("/")
    for row in queries.list_playbooks(session, incident.id):
        if row.playbook_id == book_id:
            for card in playbook_versions.get_attached_version(row.content, row.digest).remediations:
                if card.id == name:
                    return card
    raise InvalidRequestError("incident.no_remediation", remediation=key)


def _fill_from_remediation(remediation: Remediation, texts: dict[str, str]) -> dict[str, str]:
    """Fill empty texts from the remediation, in English as in journals and reports."""
    defaults = {
        "what": remediation.title.en,
        "command": remediation.command,
        "risk": remediation.risk.en if remediation.risk else "",
        "rollback": remediation.rollback.en if remediation.rollback else "",
    }
    return {name: texts[name] or defaults[name] for name in defaults}


def update_fix(
    session: Session, actor: Actor, incident_id: UUID, fix_id: UUID, fix_update: FixUpdate
) -> Incident:
    """Mark a fix as applied or rolled back, or edit it. Raises NotFoundError, ConflictError, InvalidRequestError."""
    incident = journal.lock_version(session, actor, incident_id, fix_update.version)
    fix = _get_fix(session, incident, fix_id)
    texts = {
        name: value.strip()
        for name in ("what", "command", "risk", "rollback")
        if (value := getattr(fix_update, name)) is not None
    }
    for name, value in texts.items():
        setattr(fix, name, value)
    if not fix.what:
        raise InvalidRequestError("incident.fix_needs_what")
    if texts:
        journal.append_entry(session, incident, actor, "fix_updated", what=fix.what)
    if fix_update.state == "applied":
        _apply_fix(session, actor, incident, fix, fix_update)
    elif fix_update.state == "reverted":
        if fix.state == "planned":
            raise ConflictError("incident.fix_not_applied")
        if fix.state != "reverted":
            fix.state = "reverted"
            _resume_alternating(session, incident, fix)
            journal.append_entry(session, incident, actor, "fix_reverted", what=fix.what)
    audit.record_action(
        session, actor, "incident.fix", RESOURCE, incident.id, fix=str(fix.id), state=fix.state, **texts
    )
    return incident


def _resume_alternating(session: Session, incident: Incident, fix: Fix) -> None:
    """Start the next phase without the fix for its alternating verifications."""
    for verification in queries.list_verifications(session, incident.id):
        is_open = verification.state in {"waiting", "collecting"}
        if verification.fix_id == fix.id and verification.kind == "alternating" and is_open:
            verification.state = "before"
            enqueue_after_commit(session, TASK, verification.id)


def _apply_fix(session: Session, actor: Actor, incident: Incident, fix: Fix, fix_update: FixUpdate) -> None:
    if fix.state not in {"planned", "applied", "reverted"}:
        raise ConflictError("incident.fix_judged", state=fix.state)
    at = fix_update.applied_at or utc_now()
    if at > utc_now() + MAX_CLOCK_DIFFERENCE:
        raise InvalidRequestError("incident.fix_in_future")
    fix.state, fix.applied_at = "applied", at
    for verification in queries.list_verifications(session, incident.id):
        if verification.fix_id == fix.id and verification.state in {"before", "waiting"}:
            verification.state = "collecting"
            enqueue_after_commit(session, TASK, verification.id)
    journal.append_entry(session, incident, actor, "fix_applied", what=fix.what, at=at.isoformat())


def _get_fix(session: Session, incident: Incident, fix_id: UUID) -> Fix:
    for fix in queries.list_fixes(session, incident.id):
        if fix.id == fix_id:
            return fix
    raise NotFoundError("incident.no_fix")


def create_verification(
    session: Session, actor: Actor, incident_id: UUID, fix_id: UUID, verification_create: VerificationCreate
) -> tuple[Incident, UUID]:
    """Create a verification of a fix and enqueue it. Raises NotFoundError, ConflictError, InvalidRequestError.

    For a planned fix it measures the side before first, and the side after when the fix is applied.
    """
    incident = journal.lock_version(session, actor, incident_id, verification_create.version)
    fix = _get_fix(session, incident, fix_id)
    alternates = verification_create.kind == "alternating"
    if fix.state == "reverted" and not alternates:
        raise ConflictError("incident.fix_not_applied")
    if alternates and fix.state not in {"planned", "reverted"}:
        raise ConflictError("verify.offer_needs_rollback")
    starts_before = alternates or fix.state == "planned"
    if any(
        verification.fix_id == fix.id and verification.state in OPEN_STATES
        for verification in queries.list_verifications(session, incident.id)
    ):
        raise ConflictError("incident.verification_runs")
    hosts = {host.id: host for _, host in queries.list_hosts(session, actor, incident.id)}
    on = [UUID(host) for host in fix.hosts]
    if not on or any(item not in hosts for item in on):
        raise InvalidRequestError("incident.no_host")
    control = verification_create.control_host_id
    if (verification_create.kind == "control") != (control is not None):
        raise InvalidRequestError("incident.control_needs_host")
    if control is not None and (control not in hosts or control in on):
        raise InvalidRequestError("incident.control_is_other")
    for item in (*on, *([control] if control else [])):
        authorize(actor, "capture.light", hosts[item])
    runs = queries.list_runs(session, incident.id)
    before = [run.run_id for run in runs if run.role in {"evidence", "before"} and run.host_id in on]
    hypothesis = _find_hypothesis(session, incident, fix.hypothesis_id)
    verification = Verification(
        fix_id=fix.id,
        kind=verification_create.kind,
        primary=hypothesis.primary if hypothesis else None,
        minimum_change=verification_create.minimum_change,
        before=[] if starts_before else [str(item) for item in before],
        state="before" if starts_before else "collecting",
        control_host_id=control,
        requested_by=actor.id,
    )
    session.add(verification)
    session.flush()
    enqueue_after_commit(session, TASK, verification.id)
    journal.append_entry(
        session, incident, actor, "verification_started", what=fix.what, how=verification_create.kind
    )
    audit.record_action(
        session,
        actor,
        "incident.verify",
        RESOURCE,
        incident.id,
        fix=str(fix.id),
        kind=verification_create.kind,
    )
    return incident, verification.id
