"""Taking a step: the capture that answers it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from collectors.contract import Tier
from culprit.auth.actor import Actor
from culprit.auth.policy import allowed
from culprit.captures import service as captures
from culprit.captures.schemas import CaptureCreate, ScopeGiven
from culprit.core.rules.registry import RULES
from culprit.incidents import journal, queries
from culprit.incidents.collecting import collectors_of, seconds_of
from culprit.incidents.given import StepRun
from culprit.incidents.load import TIERS
from culprit.incidents.verdicts import step_about
from culprit.infra.artifacts import ArtifactStore
from culprit.kit.errors import Invalid
from culprit.models import Capture, Host, Incident, IncidentHost, IncidentRun, Run

PLAN = "triage"


def run(
    session: Session, actor: Actor, store: ArtifactStore, incident_id: UUID, wanted: StepRun
) -> tuple[Incident, UUID]:
    """Starts the capture of a step. Raises what a capture raises, and Invalid for a step that a person answers."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    capture = take(session, actor, store, incident, wanted)
    return incident, capture.id


def take(
    session: Session,
    actor: Actor,
    store: ArtifactStore,
    incident: Incident,
    wanted: StepRun,
    *,
    source: str | None = None,
    tiers: Sequence[Tier] = TIERS,
) -> Capture:
    """The capture of a step in an incident that is locked, linked to it."""
    _, rule = step_about(session, incident, wanted.step)
    if rule not in RULES:
        raise Invalid("incident.step_for_a_person", step=wanted.step)
    found = {host.id: (link, host) for link, host in queries.hosts(session, actor, incident.id)}
    if wanted.host_id not in found:
        raise Invalid("incident.no_host")
    link, host = found[wanted.host_id]
    may = [one for one in tiers if allowed(actor, f"capture.{one}")]
    names = collectors_of(RULES[rule], _tried(session, incident, host), may)
    if not names:
        raise Invalid("incident.step_for_a_person", step=wanted.step)
    seconds = wanted.seconds or max(seconds_of(one) for one in names)
    capture = captures.create(
        session,
        actor,
        store,
        CaptureCreate(
            host_ids=[host.id],
            plan=PLAN,
            seconds=seconds,
            collectors=names,
            scope=_scope(link),
            options=wanted.options,
            reason=f"incident #{incident.number}, {wanted.step}",
            confirm=wanted.confirm,
        ),
        source=source or ("api" if actor.token_id else "manual"),
    )
    capture.incident_id = incident.id
    session.flush()
    for run_id in session.scalars(select(Run.id).where(Run.capture_id == capture.id)):
        session.add(IncidentRun(incident_id=incident.id, run_id=run_id, role="evidence", step=wanted.step))
    journal.enter(
        session,
        incident,
        actor,
        "step",
        step=wanted.step,
        host=host.name,
        host_id=str(host.id),
        collectors=", ".join(one["id"] for one in capture.collectors),
        capture=capture.number,
    )
    return capture


def _scope(link: IncidentHost) -> ScopeGiven:
    return ScopeGiven.model_validate(link.scope) if link.scope else ScopeGiven()


def _tried(session: Session, incident: Incident, host: Host) -> frozenset[str]:
    runs = [
        one.run_id
        for one in queries.runs(session, incident.id)
        if one.host_id == host.id and one.role == "evidence"
    ]
    return frozenset(one.collector for one in queries.tried(session, runs)) if runs else frozenset()
