"""Decisions about incidents: who changed what, and what is refused."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from sqlalchemy import delete
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from collectors.contract import Sentence
from collectors.scope import Scope
from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.captures.schemas import ScopeGiven
from culprit.core.playbooks import refusals
from culprit.core.rules.registry import CAUSES
from culprit.incidents import books, journal, queries
from culprit.incidents.bridge import Brought, brought, primary_of
from culprit.incidents.given import (
    HostGiven,
    HostsAdd,
    IncidentCreate,
    IncidentPatch,
    NoteAdd,
    PlaybooksAdd,
    RunsAdd,
)
from culprit.incidents.load import load
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Invalid, NotFound
from culprit.models import (
    CauseOutcome,
    Host,
    Hypothesis,
    Incident,
    IncidentHost,
    IncidentPlaybook,
    IncidentRun,
)

RESOURCE = "incident"


def conflict(refused: Sentence | None) -> None:
    """Raises Conflict for a refusal."""
    if refused is not None:
        raise Conflict(refused.key, errors=(), **refused.params)


def invalid(refused: Sentence | None) -> None:
    """Raises Invalid for a refusal."""
    if refused is not None:
        raise Invalid(refused.key, errors=(), **refused.params)


def create(session: Session, actor: Actor, wanted: IncidentCreate) -> Incident:
    """Opens an incident. Raises NotFound, Forbidden, Invalid."""
    policy(actor, "incident.edit")
    bridge = brought(session, actor, wanted.diagnosis_id, wanted.run_ids)
    at = now()
    incident = Incident(
        title=wanted.title,
        symptom=wanted.symptom.model_dump(mode="json"),
        severity=wanted.severity,
        window_from=wanted.window_from or bridge.began or at,
        window_to=wanted.window_to,
        created_by=actor.id,
        created_at=at,
        updated_at=at,
        version=0,
    )
    if incident.window_to is not None and incident.window_to < incident.window_from:
        raise Invalid("incident.window_backwards")
    session.add(incident)
    session.flush()
    _set_hosts(session, actor, incident, [*bridge.hosts, *wanted.hosts])
    attach(
        session,
        incident,
        [*wanted.playbooks, *(one for one in bridge.playbooks if one not in wanted.playbooks)],
    )
    bring(session, incident, bridge)
    journal.enter(session, incident, actor, "created", title=incident.title)
    audit.record(
        session, actor, "incident.create", RESOURCE, incident.id, title=incident.title, number=incident.number
    )
    return incident


def bring(session: Session, incident: Incident, bridge: Brought) -> None:
    """The runs of a diagnosis, and its causes that no playbook has a hypothesis for."""
    link(session, incident, bridge.runs, "evidence", None)
    session.flush()
    said = queries.hypotheses(session, incident.id)
    have = {one.cause for one in said}
    own = sum(one.key.startswith(f"{books.OWN}/") for one in said)
    for n, cause in enumerate([one for one in bridge.causes if one not in have], start=own + 1):
        title = CAUSES[cause].title
        session.add(
            Hypothesis(
                incident_id=incident.id,
                key=f"{books.OWN}/{n}",
                says={"en": title.en, "zh": title.zh},
                cause=cause,
                primary=primary_of(cause),
            )
        )
    session.flush()


def patch(session: Session, actor: Actor, incident_id: UUID, wanted: IncidentPatch) -> Incident:
    """Changes what is said of it, or its state. Raises NotFound, Forbidden, Conflict, Invalid."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    given = wanted.model_dump(exclude_unset=True, exclude={"version", "state", "reason"})
    # A null means something for the end of the window alone.
    changed = {name: value for name, value in given.items() if value is not None or name == "window_to"}
    if "symptom" in changed and wanted.symptom is not None:
        changed["symptom"] = wanted.symptom.model_dump(mode="json")
    for name, value in changed.items():
        setattr(incident, name, value)
    if incident.window_to is not None and incident.window_to < incident.window_from:
        raise Invalid("incident.window_backwards")
    if changed:
        fields = ", ".join(sorted(changed))
        journal.enter(session, incident, actor, "edited", fields=fields)
        audit.record(session, actor, "incident.edit", RESOURCE, incident.id, fields=fields)
    if wanted.state is not None and wanted.state != incident.state:
        _move(session, actor, incident, wanted.state, wanted.reason)
    return incident


def _move(session: Session, actor: Actor, incident: Incident, to: str, reason: str) -> None:
    if "resolved" in {to, incident.state}:
        policy(actor, "incident.resolve")
    session.flush()
    loaded = load(session, None, incident)
    facts = refusals.Facts([one.state for one in loaded.hypotheses], loaded.fix_facts(), loaded.gaps)
    conflict(refusals.change(incident.state, to, reason, facts))
    was, incident.state = incident.state, to
    incident.resolved_at = now() if to == "resolved" else None
    more = {"unanswered": loaded.unanswered} if to == "resolved" else {}
    journal.enter(session, incident, actor, "state", note=reason, more=more, was=was, to=to)
    audit.record(session, actor, "incident.state", RESOURCE, incident.id, was=was, to=to, reason=reason)
    _outcomes(session, actor, incident, was, loaded.hypotheses)


def _outcomes(
    session: Session, actor: Actor, incident: Incident, was: str, hypotheses: Iterable[Hypothesis]
) -> None:
    """A resolved incident says that its confirmed causes were right; a reopened one takes that back."""
    if "resolved" not in {was, incident.state}:
        return
    session.execute(
        delete(CauseOutcome).where(CauseOutcome.incident_id == incident.id, CauseOutcome.right.is_(True))
    )
    if incident.state != "resolved":
        return
    wrong = {one.cause for one in queries.outcomes(session, incident.id)}
    confirmed = {one.cause for one in hypotheses if one.state == "confirmed" and one.cause}
    for cause in sorted(confirmed - wrong):
        session.add(CauseOutcome(incident_id=incident.id, cause=cause, right=True, by=actor.id))
    session.flush()


def add_hosts(session: Session, actor: Actor, incident_id: UUID, wanted: HostsAdd) -> Incident:
    """More hosts, or other scopes and roles of those that are there."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    hosts = _set_hosts(session, actor, incident, wanted.hosts)
    names = ", ".join(sorted(one.name for one in hosts.values()))
    journal.enter(session, incident, actor, "hosts", hosts=names)
    audit.record(session, actor, "incident.hosts", RESOURCE, incident.id, hosts=names)
    return incident


def _set_hosts(
    session: Session, actor: Actor, incident: Incident, wanted: Sequence[HostGiven]
) -> dict[UUID, Host]:
    hosts = queries.visible_hosts(session, actor, (one.host_id for one in wanted))
    for one in wanted:
        if one.host_id not in hosts:
            raise NotFound("host.not_found")
        values = {"scope": _scope(one.scope), "role": one.role}
        row = insert(IncidentHost).values(incident_id=incident.id, host_id=one.host_id, **values)
        keys = [IncidentHost.incident_id, IncidentHost.host_id]
        session.execute(row.on_conflict_do_update(index_elements=keys, set_=values))
    return hosts


def _scope(given: ScopeGiven) -> dict[str, str]:
    try:
        return Scope(given.kind, given.value).to_json()
    except ValueError as error:
        raise Invalid("capture.scope_invalid", kind=given.kind, value=given.value[:80]) from error


def add_playbooks(session: Session, actor: Actor, incident_id: UUID, wanted: PlaybooksAdd) -> Incident:
    """Playbooks to go by, in the version that the catalogue has now."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    attach(session, incident, wanted.playbooks)
    names = ", ".join(wanted.playbooks)
    journal.enter(session, incident, actor, "playbooks", playbooks=names)
    audit.record(session, actor, "incident.playbooks", RESOURCE, incident.id, playbooks=names)
    return incident


def playbook_names(session: Session, incident: Incident) -> set[str]:
    """The playbooks that an incident goes by."""
    return {one.playbook_id for one in queries.playbooks(session, incident.id)}


def attach(session: Session, incident: Incident, names: Sequence[str]) -> None:
    """Playbooks with their hypotheses; one that is there already is brought up to date. Raises NotFound, Invalid."""
    have = {one.playbook_id: one for one in queries.playbooks(session, incident.id)}
    said = {one.key: one for one in queries.hypotheses(session, incident.id)}
    position = max((one.position for one in have.values()), default=-1)
    for name in dict.fromkeys(names):
        found = books.shipped(name)
        if found is None:
            raise NotFound("playbook.not_found")
        playbook, content, digest = found
        if not playbook.steps:
            raise Invalid("incident.playbook_without_steps", playbook=name)
        if name in have:
            have[name].content, have[name].digest = content, digest
            # Whoever asks for it again takes it up again.
            have[name].aside_reason, have[name].aside_by, have[name].aside_at = None, None, None
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
        for one in playbook.hypotheses:
            key = f"{name}/{one.id}"
            if key not in said:
                primary = {"read": one.primary.read, "better": one.primary.better} if one.primary else None
                says = {"en": one.says.en, "zh": one.says.zh}
                session.add(
                    Hypothesis(incident_id=incident.id, key=key, says=says, cause=one.cause, primary=primary)
                )
        session.flush()


def add_runs(session: Session, actor: Actor, incident_id: UUID, wanted: RunsAdd) -> Incident:
    """Runs to look at; one that is there already gets its new role."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    found = queries.visible_run_ids(session, actor, wanted.run_ids)
    if len(found) != len(set(wanted.run_ids)):
        raise NotFound("run.not_found")
    hosts = {host.id for _, host in queries.hosts(session, None, incident.id)}
    new = {host for host in found.values() if host is not None} - hosts
    _set_hosts(session, actor, incident, [HostGiven(host_id=one) for one in sorted(new)])
    link(session, incident, list(dict.fromkeys(wanted.run_ids)), wanted.role, wanted.step)
    journal.enter(session, incident, actor, "runs", count=len(found), role=wanted.role)
    audit.record(
        session,
        actor,
        "incident.runs",
        RESOURCE,
        incident.id,
        runs=[str(one) for one in found],
        role=wanted.role,
    )
    return incident


def link(
    session: Session, incident: Incident, run_ids: Collection[UUID], role: str, step: str | None
) -> None:
    """Runs that an incident looks at, and as what."""
    for run_id in run_ids:
        values = {"role": role, "step": step}
        row = insert(IncidentRun).values(incident_id=incident.id, run_id=run_id, created_at=now(), **values)
        keys = [IncidentRun.incident_id, IncidentRun.run_id]
        session.execute(row.on_conflict_do_update(index_elements=keys, set_=values))


def add_note(session: Session, actor: Actor, incident_id: UUID, wanted: NoteAdd) -> Incident:
    """Something to remember."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    journal.enter(session, incident, actor, "note", note=wanted.note)
    return incident
