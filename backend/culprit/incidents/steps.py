"""Taking a step: the capture that answers it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.plans import PLANS
from culprit.auth.actor import Actor
from culprit.auth.policy import allowed
from culprit.captures import service as captures
from culprit.captures.schemas import CaptureCreate
from culprit.core.rules.registry import RULES
from culprit.incidents import filling, journal, queries
from culprit.incidents.collecting import collectors_of, seconds_of
from culprit.incidents.given import StepRun
from culprit.incidents.load import TIERS
from culprit.incidents.verdicts import rules_beside, step_about
from culprit.infra.artifacts import ArtifactStore
from culprit.kit.errors import Invalid
from culprit.models import Capture, Host, Incident, IncidentRun, Run

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
    if wanted.again:
        names = list(dict.fromkeys([*names, *(one.id for one in PLANS[PLAN].collectors)]))
    seconds = wanted.seconds or max(seconds_of(one) for one in names)
    hints = filling.known(session, incident, link, host, rules_beside(session, incident, wanted.step))
    options, filled = filling.options(wanted.step, names, wanted.options, hints)
    scope, chosen = filling.scope(link, names, hints)
    capture = captures.create(
        session,
        actor,
        store,
        CaptureCreate(
            host_ids=[host.id],
            plan=PLAN,
            seconds=seconds,
            collectors=names,
            scope=scope,
            options=options,
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
    for one in (*filled, *([chosen] if chosen else [])):
        _tell(session, incident, actor, one, (wanted.step, host.name))
    return capture


def _tell(
    session: Session, incident: Incident, actor: Actor, one: filling.Filled, at: tuple[str, str]
) -> None:
    """The journal tells what nobody typed, and where it is from. `at` is the step and the name of the host."""
    step, host = at
    value, source = one.value, one.hint.by
    if one.option:
        kind, name, option = f"filled_{one.hint.said}", one.collector, one.option
        journal.enter(
            session, incident, actor, kind,
            step=step, host=host, collector=name, option=option, value=value, source=source,
        )  # fmt: skip
    else:
        what = one.hint.what
        journal.enter(
            session, incident, actor, "looks_at", step=step, host=host, scope=what, value=value, source=source
        )


def _tried(session: Session, incident: Incident, host: Host) -> frozenset[str]:
    runs = [
        one.run_id
        for one in queries.runs(session, incident.id)
        if one.host_id == host.id and one.role == "evidence"
    ]
    return frozenset(one.collector for one in queries.tried(session, runs)) if runs else frozenset()
