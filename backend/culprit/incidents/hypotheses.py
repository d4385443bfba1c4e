"""What people think of an incident and what they decide about it."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.core.playbooks import refusals
from culprit.core.rules.registry import CAUSES
from culprit.incidents import books, journal
from culprit.incidents.given import HypothesisAdd, HypothesisPatch
from culprit.incidents.load import load
from culprit.incidents.service import RESOURCE, conflict
from culprit.kit.errors import Invalid, NotFound
from culprit.models import Hypothesis, Incident
from culprit.playbooks.library import known


def add_hypothesis(
    session: Session, actor: Actor, incident_id: UUID, wanted: HypothesisAdd
) -> tuple[Incident, UUID]:
    """An explanation of one's own."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    if wanted.cause and wanted.cause not in CAUSES:
        raise Invalid("incident.no_cause", cause=wanted.cause)
    if wanted.primary is not None and wanted.primary.read not in known().reads:
        raise Invalid("playbook.no_number", id=wanted.primary.read)
    mine = Hypothesis.key.startswith(f"{books.OWN}/", autoescape=True)
    count = session.scalar(
        select(func.count()).select_from(Hypothesis).where(Hypothesis.incident_id == incident.id, mine)
    )
    one = Hypothesis(
        incident_id=incident.id,
        key=f"{books.OWN}/{(count or 0) + 1}",
        says={"en": wanted.says, "zh": wanted.says},
        cause=wanted.cause,
        primary=wanted.primary.model_dump() if wanted.primary else None,
    )
    session.add(one)
    journal.enter(session, incident, actor, "hypothesis", hypothesis=one.key, says=wanted.says)
    audit.record(session, actor, "incident.hypothesis", RESOURCE, incident.id, key=one.key)
    return incident, one.id


def decide(
    session: Session, actor: Actor, incident_id: UUID, hypothesis_id: UUID, wanted: HypothesisPatch
) -> Incident:
    """What people decided about a hypothesis. Raises NotFound, Forbidden, Conflict."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    loaded = load(session, None, incident)
    one = next((each for each in loaded.hypotheses if each.id == hypothesis_id), None)
    if one is None:
        raise NotFound("incident.no_hypothesis")
    stand = loaded.stand(one.key)
    conflict(refusals.decision(wanted.state, one.key, stand, loaded.fix_facts()))
    one.state = wanted.state
    journal.enter(session, incident, actor, "decided", note=wanted.note, hypothesis=one.key, to=one.state)
    audit.record(session, actor, "incident.decide", RESOURCE, incident.id, hypothesis=one.key, to=one.state)
    return incident
