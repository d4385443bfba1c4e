"""Create and change incidents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from sqlalchemy import delete
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from collectors.contract import Sentence
from collectors.runner.scope import Scope
from culprit.accounts import audit
from culprit.accounts.actor import Actor, rank_role
from culprit.accounts.authorization import ACTIONS, authorize
from culprit.captures.schemas import ScopeRequest
from culprit.domain.playbooks import refusals
from culprit.domain.rules.registry import CAUSES
from culprit.incidents.records import journal, playbook_versions, queries
from culprit.incidents.records.from_diagnosis import IncidentSeed, build_seed, select_primary_number
from culprit.incidents.records.requests import (
    IncidentCreate,
    IncidentHostRequest,
    IncidentHostsCreate,
    IncidentPlaybooksCreate,
    IncidentRunsCreate,
    IncidentUpdate,
    NoteCreate,
)
from culprit.incidents.records.snapshot import load_snapshot
from culprit.infra.db.clock import utc_now
from culprit.infra.models.analysis.cause_outcome import CauseOutcome
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.hypothesis import Hypothesis
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost
from culprit.infra.models.incidents.incident_playbook import IncidentPlaybook
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError

RESOURCE = "incident"


def raise_conflict(refused: Sentence | None) -> None:
    """Raise ConflictError if a change is refused."""
    if refused is not None:
        raise ConflictError(refused.key, errors=(), **refused.params)


def raise_invalid(refused: Sentence | None) -> None:
    """Raise InvalidRequestError if a change is refused."""
    if refused is not None:
        raise InvalidRequestError(refused.key, errors=(), **refused.params)


def create_incident(session: Session, actor: Actor, incident_create: IncidentCreate) -> Incident:
    """Create an incident. Raises NotFoundError, ForbiddenError, InvalidRequestError."""
    authorize(actor, "incident.edit")
    bridge = build_seed(session, actor, incident_create.diagnosis_id, incident_create.run_ids)
    at = utc_now()
    incident = Incident(
        title=incident_create.title,
        symptom=incident_create.symptom.model_dump(mode="json"),
        severity=incident_create.severity,
        window_from=incident_create.window_from or bridge.began or at,
        window_to=incident_create.window_to,
        created_by=actor.id,
        created_at=at,
        updated_at=at,
        version=0,
    )
    if incident.window_to is not None and incident.window_to < incident.window_from:
        raise InvalidRequestError("incident.window_backwards")
    session.add(incident)
    session.flush()
    _set_hosts(session, actor, incident, [*bridge.hosts, *incident_create.hosts])
    attach_playbooks(
        session,
        incident,
        [
            *incident_create.playbooks,
            *(playbook for playbook in bridge.playbooks if playbook not in incident_create.playbooks),
        ],
    )
    apply_seed(session, incident, bridge)
    if incident_create.diagnosis_id is not None:
        _link_diagnosis(session, incident, incident_create.diagnosis_id)
    journal.append_entry(session, incident, actor, "incident_created", title=incident.title)
    audit.record_action(
        session, actor, "incident.create", RESOURCE, incident.id, title=incident.title, number=incident.number
    )
    return incident


def _link_diagnosis(session: Session, incident: Incident, diagnosis_id: UUID) -> None:
    """Link the diagnosis to this incident, unless another one has it. A running diagnosis is recorded at its end."""
    diagnosis = session.get_one(Diagnosis, diagnosis_id)
    if diagnosis.incident_id is None:
        diagnosis.incident_id = incident.id
        diagnosis.recorded_at = utc_now() if diagnosis.state != "running" else None


def apply_seed(session: Session, incident: Incident, bridge: IncidentSeed) -> None:
    """Add the runs of a seed, and hypotheses for its causes that no playbook has."""
    link_runs(session, incident, bridge.runs, "evidence", None)
    session.flush()
    hypotheses = queries.list_hypotheses(session, incident.id)
    have = {hypothesis.cause for hypothesis in hypotheses}
    own = sum(
        hypothesis.key.startswith(f"{playbook_versions.CUSTOM_PLAYBOOK_ID}/") for hypothesis in hypotheses
    )
    for n, cause in enumerate([cause for cause in bridge.causes if cause not in have], start=own + 1):
        title = CAUSES[cause].title
        session.add(
            Hypothesis(
                incident_id=incident.id,
                key=f"{playbook_versions.CUSTOM_PLAYBOOK_ID}/{n}",
                summary={"en": title.en, "zh": title.zh},
                cause=cause,
                primary=select_primary_number(cause),
            )
        )
    session.flush()


def update_incident(
    session: Session, actor: Actor, incident_id: UUID, incident_update: IncidentUpdate
) -> Incident:
    """Update fields or the state. Raises NotFoundError, ForbiddenError, ConflictError, InvalidRequestError."""
    incident = journal.lock_version(session, actor, incident_id, incident_update.version)
    supplied = incident_update.model_dump(
        exclude_unset=True, exclude={"version", "state", "reason", "owner_id"}
    )
    # Only the end of the window can be set to null.
    changed = {name: value for name, value in supplied.items() if value is not None or name == "window_to"}
    if "symptom" in changed and incident_update.symptom is not None:
        changed["symptom"] = incident_update.symptom.model_dump(mode="json")
    for name, value in changed.items():
        setattr(incident, name, value)
    if incident.window_to is not None and incident.window_to < incident.window_from:
        raise InvalidRequestError("incident.window_backwards")
    if changed:
        fields = ", ".join(sorted(changed))
        journal.append_entry(session, incident, actor, "incident_updated", fields=fields)
        audit.record_action(session, actor, "incident.edit", RESOURCE, incident.id, fields=fields)
    if "owner_id" in incident_update.model_fields_set:
        _set_owner(session, actor, incident, incident_update.owner_id)
    if incident_update.state is not None and incident_update.state != incident.state:
        _change_state(session, actor, incident, incident_update.state, incident_update.reason)
    return incident


def _set_owner(session: Session, actor: Actor, incident: Incident, owner_id: UUID | None) -> None:
    """Set or clear the owner of the incident. Raises InvalidRequestError for an account that may not edit it."""
    if owner_id == incident.owner_id:
        return
    owner = queries.find_account(session, owner_id) if owner_id is not None else None
    if owner_id is not None and (owner is None or not may_own(owner.role)):
        raise InvalidRequestError("incident.owner_unknown")
    incident.owner_id = owner_id
    name = owner.name if owner is not None else ""
    if owner is None:
        journal.append_entry(session, incident, actor, "owner_removed")
    else:
        journal.append_entry(session, incident, actor, "owner_set", owner=owner.name)
    audit.record_action(session, actor, "incident.owner", RESOURCE, incident.id, owner=name)


def may_own(role: str) -> bool:
    """Return whether accounts of a role can lead an incident: those that may edit it."""
    return rank_role(role) >= rank_role(ACTIONS["incident.edit"])


def _change_state(session: Session, actor: Actor, incident: Incident, to: str, reason: str) -> None:
    if "resolved" in {to, incident.state}:
        authorize(actor, "incident.resolve")
    session.flush()
    snapshot = load_snapshot(session, None, incident)
    facts = refusals.IncidentFacts(
        [hypothesis.state for hypothesis in snapshot.hypotheses],
        snapshot.list_fix_facts(),
        snapshot.open_steps,
    )
    raise_conflict(refusals.check_transition(incident.state, to, reason, facts))
    previous, incident.state = incident.state, to
    if incident.owner_id is None and to != "open":
        incident.owner_id = actor.id
    incident.resolved_at = utc_now() if to == "resolved" else None
    more = {"unanswered": snapshot.unanswered_steps} if to == "resolved" else {}
    journal.append_entry(
        session, incident, actor, "state_changed", note=reason, more=more, previous=previous, to=to
    )
    audit.record_action(
        session, actor, "incident.state", RESOURCE, incident.id, previous=previous, to=to, reason=reason
    )
    _update_outcomes(session, actor, incident, previous, snapshot.hypotheses)


def _update_outcomes(
    session: Session, actor: Actor, incident: Incident, previous: str, hypotheses: Iterable[Hypothesis]
) -> None:
    """Record the confirmed causes of a resolved incident as right; remove these outcomes when it is reopened."""
    if "resolved" not in {previous, incident.state}:
        return
    session.execute(
        delete(CauseOutcome).where(CauseOutcome.incident_id == incident.id, CauseOutcome.right.is_(True))
    )
    if incident.state != "resolved":
        return
    wrong = {outcome.cause for outcome in queries.list_outcomes(session, incident.id)}
    confirmed = {
        hypothesis.cause for hypothesis in hypotheses if hypothesis.state == "confirmed" and hypothesis.cause
    }
    for cause in sorted(confirmed - wrong):
        session.add(CauseOutcome(incident_id=incident.id, cause=cause, right=True, by=actor.id))
    session.flush()


def add_hosts(
    session: Session, actor: Actor, incident_id: UUID, incident_hosts_create: IncidentHostsCreate
) -> Incident:
    """Add hosts, or change their scopes and roles."""
    incident = journal.lock_version(session, actor, incident_id, incident_hosts_create.version)
    hosts = _set_hosts(session, actor, incident, incident_hosts_create.hosts)
    names = ", ".join(sorted(host.name for host in hosts.values()))
    journal.append_entry(session, incident, actor, "hosts_added", hosts=names)
    audit.record_action(session, actor, "incident.hosts", RESOURCE, incident.id, hosts=names)
    return incident


def _set_hosts(
    session: Session, actor: Actor, incident: Incident, incident_host_requests: Sequence[IncidentHostRequest]
) -> dict[UUID, Host]:
    hosts = queries.find_visible_hosts(
        session, actor, (incident_host_request.host_id for incident_host_request in incident_host_requests)
    )
    for incident_host_request in incident_host_requests:
        if incident_host_request.host_id not in hosts:
            raise NotFoundError("host.not_found")
        values = {"scope": _parse_scope(incident_host_request.scope), "role": incident_host_request.role}
        row = insert(IncidentHost).values(
            incident_id=incident.id, host_id=incident_host_request.host_id, **values
        )
        keys = [IncidentHost.incident_id, IncidentHost.host_id]
        session.execute(row.on_conflict_do_update(index_elements=keys, set_=values))
    return hosts


def _parse_scope(scope_request: ScopeRequest) -> dict[str, str]:
    try:
        return Scope(scope_request.kind, scope_request.value).to_json()
    except ValueError as error:
        raise InvalidRequestError(
            "capture.scope_invalid", kind=scope_request.kind, value=scope_request.value[:80]
        ) from error


def add_playbooks(
    session: Session, actor: Actor, incident_id: UUID, incident_playbooks_create: IncidentPlaybooksCreate
) -> Incident:
    """Attach playbooks in their current version."""
    incident = journal.lock_version(session, actor, incident_id, incident_playbooks_create.version)
    attach_playbooks(session, incident, incident_playbooks_create.playbooks)
    names = ", ".join(incident_playbooks_create.playbooks)
    journal.append_entry(session, incident, actor, "playbooks_added", playbooks=names)
    audit.record_action(session, actor, "incident.playbooks", RESOURCE, incident.id, playbooks=names)
    return incident


def list_playbook_ids(session: Session, incident: Incident) -> set[str]:
    """Return the IDs of the attached playbooks."""
    return {playbook.playbook_id for playbook in queries.list_playbooks(session, incident.id)}


def attach_playbooks(session: Session, incident: Incident, names: Sequence[str]) -> None:
    """Attach playbooks with their hypotheses; update those that are attached already.

    Raises NotFoundError, InvalidRequestError.
    """
    have = {playbook.playbook_id: playbook for playbook in queries.list_playbooks(session, incident.id)}
    messages = {hypothesis.key: hypothesis for hypothesis in queries.list_hypotheses(session, incident.id)}
    position = max((item.position for item in have.values()), default=-1)
    for name in dict.fromkeys(names):
        catalog_version = playbook_versions.get_catalog_version(name)
        if catalog_version is None:
            raise NotFoundError("playbook.not_found")
        playbook, content, digest = catalog_version
        if not playbook.steps:
            raise InvalidRequestError("incident.playbook_without_steps", playbook=name)
        if name in have:
            have[name].content, have[name].digest = content, digest
            # Attaching a dismissed playbook again restores it.
            have[name].dismissed_reason, have[name].dismissed_by, have[name].dismissed_at = None, None, None
        else:
            position += 1
            session.add(
                IncidentPlaybook(
                    incident_id=incident.id,
                    playbook_id=name,
                    digest=digest,
                    content=content,
                    position=position,
                )
            )
        for hypothesis in playbook.hypotheses:
            key = f"{name}/{hypothesis.id}"
            if key not in messages:
                primary = (
                    {"read": hypothesis.primary.read, "better": hypothesis.primary.better}
                    if hypothesis.primary
                    else None
                )
                messages_value = {"en": hypothesis.summary.en, "zh": hypothesis.summary.zh}
                session.add(
                    Hypothesis(
                        incident_id=incident.id,
                        key=key,
                        summary=messages_value,
                        cause=hypothesis.cause,
                        primary=primary,
                    )
                )
        session.flush()


def add_runs(
    session: Session, actor: Actor, incident_id: UUID, incident_runs_create: IncidentRunsCreate
) -> Incident:
    """Add runs, or change their role."""
    incident = journal.lock_version(session, actor, incident_id, incident_runs_create.version)
    visible_runs = queries.map_visible_runs(session, actor, incident_runs_create.run_ids)
    if len(visible_runs) != len(set(incident_runs_create.run_ids)):
        raise NotFoundError("run.not_found")
    hosts = {host.id for _, host in queries.list_hosts(session, None, incident.id)}
    new = {host for host in visible_runs.values() if host is not None} - hosts
    _set_hosts(session, actor, incident, [IncidentHostRequest(host_id=item) for item in sorted(new)])
    link_runs(
        session,
        incident,
        list(dict.fromkeys(incident_runs_create.run_ids)),
        incident_runs_create.role,
        incident_runs_create.step,
    )
    journal.append_entry(
        session, incident, actor, "runs_added", count=len(visible_runs), role=incident_runs_create.role
    )
    audit.record_action(
        session,
        actor,
        "incident.runs",
        RESOURCE,
        incident.id,
        runs=[str(visible_run) for visible_run in visible_runs],
        role=incident_runs_create.role,
    )
    return incident


def link_runs(
    session: Session, incident: Incident, run_ids: Collection[UUID], role: str, step: str | None
) -> None:
    """Link runs to an incident with a role."""
    for run_id in run_ids:
        values = {"role": role, "step": step}
        row = insert(IncidentRun).values(
            incident_id=incident.id, run_id=run_id, created_at=utc_now(), **values
        )
        keys = [IncidentRun.incident_id, IncidentRun.run_id]
        session.execute(row.on_conflict_do_update(index_elements=keys, set_=values))


def add_note(session: Session, actor: Actor, incident_id: UUID, note_create: NoteCreate) -> Incident:
    """Add a note to the journal."""
    incident = journal.lock_version(session, actor, incident_id, note_create.version)
    journal.append_entry(session, incident, actor, "note_added", note=note_create.note)
    return incident
