"""An incident that goes on by itself: the task `culprit.advance_incident`.

It is rung when the autopilot is started, when a run of the incident was evaluated, and by the sweep; whoever holds the
row decides, and a bell too many changes nothing. One capture at a time, each on behalf of the person who started it;
it stops where a person is needed, where nothing is left to collect, and where a capture is refused. A step that asks
for something that the incident does not know is left for the end: then it stops with that question.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from collectors.contract import Sentence
from culprit.auth.actor import Actor, actor_by_id
from culprit.core.outcomes import RUN_FINAL
from culprit.incidents import autopilot, steps
from culprit.incidents.filling import ASKS
from culprit.incidents.given import StepRun
from culprit.incidents.load import load
from culprit.infra.artifacts import artifact_store
from culprit.infra.db import database
from culprit.kit.errors import CulpritError
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Evaluation, Incident, Run
from culprit.workflows.readiness import being_built


def advance_incident(incident_id: UUID) -> str | None:
    """Do what can be done now. Returns the state that the autopilot is left in, None where there is none."""
    with unit_of_work(database().sessions) as session:
        incident = session.scalar(
            select(Incident).where(Incident.id == incident_id).with_for_update(of=Incident, key_share=True)
        )
        if incident is None or not incident.autopilot:
            return None
        if autopilot.running(incident) and _home(session, incident.autopilot["capture_id"]):
            _advance(session, incident)
        state: str = incident.autopilot["state"]
        return state


def _home(session: Session, capture_id: str | None) -> bool:
    """Whether the last capture has ended, was evaluated, and has its profiles."""
    if capture_id is None:
        return True
    for run in session.scalars(select(Run).where(Run.capture_id == UUID(capture_id))):
        if run.state not in RUN_FINAL or being_built(session, run.id):
            return False
        asked = session.scalar(select(exists(select(Evaluation.run_id).where(Evaluation.run_id == run.id))))
        if run.state in {"done", "partial"} and not asked:
            return False
    return True


def _advance(session: Session, incident: Incident) -> None:
    pilot = incident.autopilot or {}
    actor = actor_by_id(session, UUID(pilot["by"]))
    if actor is None:
        autopilot.halt(session, incident, None, Sentence("run.requester_gone"))
        return
    if incident.state == "resolved":
        autopilot.halt(session, incident, None, Sentence("autopilot.resolved"))
        return
    loaded = load(session, actor, incident)
    questions: dict[str, Sentence] = {}
    while True:
        found = autopilot.choose(loaded, questions)
        if isinstance(found, Sentence):
            autopilot.halt(session, incident, None, next(iter(questions.values()), found))
            return
        step = f"{found.playbook}/{found.proposal.step}"
        question = _take(session, incident, actor, step, UUID(found.host))
        if question is None:
            return
        questions[step] = question


def _take(session: Session, incident: Incident, actor: Actor, step: str, host_id: UUID) -> Sentence | None:
    """Takes the step, or stops where it is refused. What it would have to be told is given back, and nothing done."""
    pilot = incident.autopilot or {}
    wanted = StepRun(version=max(1, incident.version), step=step, host_id=host_id)
    try:
        with session.begin_nested():
            capture = steps.take(
                session,
                actor,
                artifact_store(),
                incident,
                wanted,
                source="manual",
                tiers=autopilot.tiers_of(pilot["tier"]),
            )
    except CulpritError as error:
        params = {name: value for name, value in error.params.items() if isinstance(value, str | int | float)}
        refused = Sentence(error.key, params)
        if error.key.startswith(ASKS):
            return refused
        autopilot.halt(session, incident, None, refused)
        return None
    incident.autopilot = {
        **pilot,
        "capture_id": str(capture.id),
        "step": step,
        "taken": pilot.get("taken", 0) + 1,
    }
    return None
