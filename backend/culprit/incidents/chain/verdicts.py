"""Add pins and verdicts, and reject causes."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import delete
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import is_allowed
from culprit.domain.playbooks import refusals
from culprit.domain.playbooks.model import GATES, Playbook
from culprit.domain.rules.registry import CAUSES
from culprit.evidence.retention import citation_queries
from culprit.incidents.chain.pin_targets import resolve_pin
from culprit.incidents.records import journal, playbook_versions, queries
from culprit.incidents.records.pin_requests import PinCreate
from culprit.incidents.records.requests import CauseRejectionCreate, VerdictCreate, VerdictWithdrawRequest
from culprit.incidents.records.service import RESOURCE, raise_invalid
from culprit.incidents.responses import incident as read
from culprit.incidents.responses.schemas import PinCheckResponse, PinState
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.clock import utc_now
from culprit.infra.models.analysis.cause_outcome import CauseOutcome
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.pin import Pin
from culprit.infra.models.incidents.step_verdict import StepVerdict
from culprit.infra.models.incidents.verdict_pin import VerdictPin
from culprit.web.errors import ConflictError, ForbiddenError, InvalidRequestError, NotFoundError

#: A pin with several artifacts has the state of the worst one.
STATE_PRIORITY: tuple[PinState, ...] = ("altered", "gone", "intact")


def _find_playbook(session: Session, incident: Incident, playbook_id: str) -> Playbook | None:
    if playbook_id == playbook_versions.CUSTOM_PLAYBOOK_ID:
        return playbook_versions.build_custom_playbook(queries.list_hypotheses(session, incident.id))
    row = next(
        (row for row in queries.list_playbooks(session, incident.id) if row.playbook_id == playbook_id),
        None,
    )
    return playbook_versions.get_attached_version(row.content, row.digest) if row else None


def list_step_rules(session: Session, incident: Incident, key: str) -> frozenset[str]:
    """Return the rules of all steps in the playbook of a step."""
    playbook = _find_playbook(session, incident, key.partition("/")[0])
    return frozenset(step.finding for step in playbook.steps if step.finding) if playbook else frozenset()


def get_step_subject(session: Session, incident: Incident, key: str) -> tuple[str, str]:
    """Return the subject of a step (the key of a hypothesis, or a gate) and its rule, or raise InvalidRequestError."""
    playbook_id, _, name = key.partition("/")
    playbook = _find_playbook(session, incident, playbook_id)
    step = next((step for step in playbook.steps if step.id == name), None) if playbook else None
    if step is None:
        raise InvalidRequestError("incident.no_step", step=key)
    return step.about if step.about in GATES else f"{playbook_id}/{step.about}", step.finding


def add_pin(
    session: Session, actor: Actor, store: ArtifactStore, incident_id: UUID, pin_create: PinCreate
) -> tuple[Incident, UUID]:
    """Pin evidence. Raises NotFoundError, ConflictError, InvalidRequestError if it does not exist."""
    incident = journal.lock_version(session, actor, incident_id, pin_create.version)
    if pin_create.step is not None:
        get_step_subject(session, incident, pin_create.step)
    citation_queries.lock_cited_runs(session, pin_create.ref.model_dump(mode="json"))
    target = resolve_pin(session, actor, store, pin_create)
    mine = {host.id for _, host in queries.list_hosts(session, actor, incident.id)}
    if not mine.issuperset(host for host in target.hosts if host is not None):
        raise InvalidRequestError("incident.pin_of_other_host")
    hosts = [str(host) for host in target.hosts if host is not None]
    pin = Pin(
        incident_id=incident.id,
        kind=pin_create.kind,
        ref=pin_create.ref.model_dump(mode="json"),
        view=pin_create.view,
        snapshot={
            **target.snapshot,
            "host_id": hosts[0] if hosts else None,
            "hosts": hosts,
            "artifacts": list(target.artifacts),
        },
        artifact=target.artifacts[0] if len(target.artifacts) == 1 else None,
        step=pin_create.step,
        created_by=actor.id,
    )
    session.add(pin)
    session.flush()
    journal.append_entry(
        session,
        incident,
        actor,
        "pin_added",
        what=pin_create.kind,
        step=pin_create.step or "",
        host_id=hosts[0] if hosts else "",
    )
    audit.record_action(
        session, actor, "incident.pin", RESOURCE, incident.id, pin=str(pin.id), kind=pin_create.kind
    )
    return incident, pin.id


def check_pin(
    session: Session, actor: Actor, store: ArtifactStore, incident_id: UUID, pin_id: UUID
) -> PinCheckResponse:
    """Return a pin and whether its artifacts are intact. Reads all their bytes."""
    incident = journal.get_incident(session, actor, incident_id)
    pin = next((pin for pin in queries.list_pins(session, incident.id) if pin.id == pin_id), None)
    seen = {str(host.id) for _, host in queries.list_hosts(session, actor, incident.id)}
    if pin is None or not seen.issuperset(pin.snapshot.get("hosts", ())):
        raise NotFoundError("incident.no_pin")
    digests = pin.snapshot.get("artifacts") or ([pin.artifact] if pin.artifact else [])
    states = {_check_bytes(store, digest) for digest in digests}
    state: PinState | None = next((item for item in STATE_PRIORITY if item in states), None)
    sent = read.build_pin(pin, queries.load_user_names(session, [pin.created_by]))
    return PinCheckResponse(**sent.model_dump(), state=state)


def _check_bytes(store: ArtifactStore, digest: str) -> PinState:
    try:
        store.verify(digest)
    except ArtifactAlteredError:
        return "altered"
    except (ArtifactMissingError, FileNotFoundError):
        return "gone"
    return "intact"


def _load_pins(session: Session, incident: Incident, ids: Sequence[UUID]) -> list[Pin]:
    """Return pins of this incident, or raise InvalidRequestError."""
    mine = {pin.id: pin for pin in queries.list_pins(session, incident.id)}
    for item in ids:
        if item not in mine:
            raise InvalidRequestError("incident.pin_of_other")
    return [mine[item] for item in dict.fromkeys(ids)]


def add_verdict(
    session: Session, actor: Actor, incident_id: UUID, verdict_create: VerdictCreate
) -> tuple[Incident, UUID]:
    """Add a verdict of a user. It overrides the verdict of the rule; both are kept."""
    incident = journal.lock_version(session, actor, incident_id, verdict_create.version)
    about, _ = get_step_subject(session, incident, verdict_create.step)
    pins = _load_pins(session, incident, verdict_create.pins)
    cited = [refusals.CitedPin(str(pin.id), bool(pin.snapshot.get("collected"))) for pin in pins]
    raise_invalid(refusals.check_verdict(verdict_create.verdict, cited))
    hosts = {host.id for _, host in queries.list_hosts(session, actor, incident.id)}
    if verdict_create.host_id is not None and verdict_create.host_id not in hosts:
        raise InvalidRequestError("incident.no_host")
    step_verdict = StepVerdict(
        incident_id=incident.id,
        step=verdict_create.step,
        hypothesis=about,
        host_id=verdict_create.host_id,
        verdict=verdict_create.verdict,
        note=verdict_create.note,
        by=actor.id,
    )
    session.add(step_verdict)
    session.flush()
    for pin in pins:
        session.execute(insert(VerdictPin).values(verdict_id=step_verdict.id, pin_id=pin.id))
    _append_entry(session, actor, incident, step_verdict, kind="verdict_added", note=verdict_create.note)
    return incident, step_verdict.id


def withdraw_verdict(
    session: Session,
    actor: Actor,
    incident_id: UUID,
    verdict_id: UUID,
    verdict_withdraw_request: VerdictWithdrawRequest,
) -> Incident:
    """Withdraw a verdict: the own one, or any with the on-call role. The row stays."""
    incident = journal.lock_version(session, actor, incident_id, verdict_withdraw_request.version)
    verdict = next(
        (each for each in queries.list_verdicts(session, incident.id) if each.id == verdict_id), None
    )
    if verdict is None:
        raise NotFoundError("incident.no_verdict")
    if verdict.by != actor.id and not is_allowed(actor, "incident.resolve"):
        raise ForbiddenError("incident.verdict_of_other")
    verdict.withdrawn_at = utc_now()
    _append_entry(
        session, actor, incident, verdict, kind="verdict_withdrawn", note=verdict_withdraw_request.note
    )
    return incident


def _append_entry(
    session: Session, actor: Actor, incident: Incident, step_verdict: StepVerdict, *, kind: str, note: str
) -> None:
    host = session.get_one(Host, step_verdict.host_id) if step_verdict.host_id is not None else None
    name, host_id = (host.name, str(host.id)) if host else ("", "")
    journal.append_entry(
        session,
        incident,
        actor,
        kind,
        note=note,
        step=step_verdict.step,
        verdict=step_verdict.verdict,
        host=name,
        host_id=host_id,
    )
    audit.record_action(
        session,
        actor,
        f"incident.{kind}",
        RESOURCE,
        incident.id,
        step=step_verdict.step,
        verdict=step_verdict.verdict,
        host=name,
        host_id=host_id,
    )


def reject_cause(
    session: Session, actor: Actor, incident_id: UUID, cause_rejection_create: CauseRejectionCreate
) -> Incident:
    """Reject a named cause. Replaces an earlier outcome of that cause in this incident."""
    incident = journal.lock_version(session, actor, incident_id, cause_rejection_create.version)
    for cause in filter(None, (cause_rejection_create.cause, cause_rejection_create.true_cause)):
        if cause not in CAUSES:
            raise InvalidRequestError("incident.no_cause", cause=cause)
    if cause_rejection_create.true_cause == cause_rejection_create.cause:
        raise ConflictError("incident.same_cause")
    pins = _load_pins(session, incident, cause_rejection_create.pins)
    if cause_rejection_create.true_cause is not None and not pins:
        raise InvalidRequestError("incident.correction_needs_pin")
    session.execute(
        delete(CauseOutcome).where(
            CauseOutcome.incident_id == incident.id, CauseOutcome.cause == cause_rejection_create.cause
        )
    )
    session.add(
        CauseOutcome(
            incident_id=incident.id,
            cause=cause_rejection_create.cause,
            right=False,
            true_cause=cause_rejection_create.true_cause,
            pins=[str(pin.id) for pin in pins],
            note=cause_rejection_create.note,
            by=actor.id,
        )
    )
    instead = cause_rejection_create.true_cause or ""
    kind = "cause_corrected" if instead else "cause_rejected"
    journal.append_entry(
        session,
        incident,
        actor,
        kind,
        note=cause_rejection_create.note,
        cause=cause_rejection_create.cause,
        instead=instead,
    )
    audit.record_action(
        session,
        actor,
        "incident.reject_cause",
        RESOURCE,
        incident.id,
        cause=cause_rejection_create.cause,
        instead=instead,
    )
    return incident
