"""Add hypotheses of users and decide hypotheses."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.analysis.playbooks.library import list_known_ids
from culprit.domain.playbooks import refusals
from culprit.domain.rules.registry import CAUSES
from culprit.incidents.chain import queries
from culprit.incidents.records import journal, playbook_versions
from culprit.incidents.records.requests import HypothesisCreate, HypothesisUpdate
from culprit.incidents.records.service import RESOURCE, raise_conflict
from culprit.incidents.records.snapshot import load_snapshot
from culprit.infra.models.incidents.hypothesis import Hypothesis
from culprit.infra.models.incidents.incident import Incident
from culprit.web.errors import InvalidRequestError, NotFoundError


def add_hypothesis(
    session: Session, actor: Actor, incident_id: UUID, hypothesis_create: HypothesisCreate
) -> tuple[Incident, UUID]:
    """Add a hypothesis of a user. Raises NotFoundError, ConflictError, InvalidRequestError."""
    incident = journal.lock_version(session, actor, incident_id, hypothesis_create.version)
    if hypothesis_create.cause and hypothesis_create.cause not in CAUSES:
        raise InvalidRequestError("incident.no_cause", cause=hypothesis_create.cause)
    if (
        hypothesis_create.primary is not None
        and hypothesis_create.primary.read not in list_known_ids().numbers
    ):
        raise InvalidRequestError("playbook.no_number", id=hypothesis_create.primary.read)
    number = queries.count_custom_hypotheses(session, incident.id) + 1
    hypothesis = Hypothesis(
        incident_id=incident.id,
        key=f"{playbook_versions.CUSTOM_PLAYBOOK_ID}/{number}",
        summary={"en": hypothesis_create.summary, "zh": hypothesis_create.summary},
        cause=hypothesis_create.cause,
        primary=hypothesis_create.primary.model_dump() if hypothesis_create.primary else None,
    )
    session.add(hypothesis)
    journal.append_entry(
        session,
        incident,
        actor,
        "hypothesis_added",
        hypothesis=hypothesis.key,
        summary=hypothesis_create.summary,
    )
    audit.record_action(session, actor, "incident.hypothesis", RESOURCE, incident.id, key=hypothesis.key)
    return incident, hypothesis.id


def decide_hypothesis(
    session: Session,
    actor: Actor,
    incident_id: UUID,
    hypothesis_id: UUID,
    hypothesis_update: HypothesisUpdate,
) -> Incident:
    """Decide a hypothesis. Raises NotFoundError, ForbiddenError, ConflictError."""
    incident = journal.lock_version(session, actor, incident_id, hypothesis_update.version)
    snapshot = load_snapshot(session, None, incident)
    hypothesis = next((each for each in snapshot.hypotheses if each.id == hypothesis_id), None)
    if hypothesis is None:
        raise NotFoundError("incident.no_hypothesis")
    evidence = snapshot.get_hypothesis_state(hypothesis.key)
    raise_conflict(
        refusals.check_decision(hypothesis_update.state, hypothesis.key, evidence, snapshot.list_fix_facts())
    )
    hypothesis.state = hypothesis_update.state
    journal.append_entry(
        session,
        incident,
        actor,
        "hypothesis_decided",
        note=hypothesis_update.note,
        hypothesis=hypothesis.key,
        to=hypothesis.state,
    )
    audit.record_action(
        session,
        actor,
        "incident.decide",
        RESOURCE,
        incident.id,
        hypothesis=hypothesis.key,
        to=hypothesis.state,
    )
    return incident
