"""Advance the autopilot of an incident: the task `culprit.advance_autopilot`.

It is enqueued when the autopilot starts, after the evaluation of a run of the incident, and by the sweep. The lock on
the row makes duplicate messages harmless. Captures run one at a time, on behalf of the user who started the autopilot.
It stops if a person is needed, if no capture is left, or if a capture is refused. A step with a missing option is
skipped; if no other step is left, the autopilot stops with the message about that option. An incident without
hypotheses is diagnosed first. While a diagnosis of the incident runs, the autopilot waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Sentence
from culprit.accounts.actor import Actor, find_actor
from culprit.analysis.diagnoses.queries import list_incident_diagnoses
from culprit.domain.runs.states import RUN_FINAL
from culprit.evidence.readiness_queries import is_evaluation_pending
from culprit.incidents.chain import autopilot, steps
from culprit.incidents.chain.start_diagnosis import diagnose_host
from culprit.incidents.chain.step_options import MISSING_OPTION_PREFIX
from culprit.incidents.records.requests import StepRunRequest
from culprit.incidents.records.snapshot import INVESTIGATED_ROLES, IncidentSnapshot, load_snapshot
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.incidents.incident import Incident
from culprit.jobs.incidents.queries import (
    has_unrecorded_diagnosis,
    is_evaluated,
    list_capture_runs,
    lock_incident,
    pending_autopilots,
)
from culprit.jobs.job import Job
from culprit.web.errors import CulpritError


def advance_incident(incident_id: UUID) -> str | None:
    """Advance the autopilot if its last capture is finished. Return its state, or None without an autopilot."""
    with unit_of_work(get_database().sessions) as session:
        incident = lock_incident(session, incident_id)
        if incident is None or not incident.autopilot:
            return None
        if autopilot.is_running(incident) and _is_capture_finished(session, incident.autopilot["capture_id"]):
            _advance(session, incident)
        state: str = incident.autopilot["state"]
        return state


def _is_capture_finished(session: Session, capture_id: str | None) -> bool:
    """Return whether the last capture has ended, is evaluated and has its profiles."""
    if capture_id is None:
        return True
    for run in list_capture_runs(session, UUID(capture_id)):
        if run.state not in RUN_FINAL or is_evaluation_pending(session, run.id):
            return False
        if run.state in {"done", "partial"} and not is_evaluated(session, run.id):
            return False
    return True


def _advance(session: Session, incident: Incident) -> None:
    pilot = incident.autopilot or {}
    actor = find_actor(session, UUID(pilot["by"]))
    if actor is None:
        autopilot.stop_with_reason(session, incident, None, Sentence("run.requester_gone"))
        return
    if incident.state == "resolved":
        autopilot.stop_with_reason(session, incident, None, Sentence("autopilot.resolved"))
        return
    if has_unrecorded_diagnosis(session, incident.id):
        return
    snapshot = load_snapshot(session, actor, incident)
    if not snapshot.hypotheses and _start_diagnosis(session, incident, actor, snapshot):
        return
    missing_options: dict[str, Sentence] = {}
    while True:
        next_step = autopilot.select_next_step(snapshot, missing_options)
        if isinstance(next_step, Sentence):
            autopilot.stop_with_reason(
                session, incident, None, next(iter(missing_options.values()), next_step)
            )
            return
        step = f"{next_step.playbook}/{next_step.proposal.step}"
        others = [key for key in snapshot.open_steps if key != step and key not in missing_options]
        refusal = _run_step(session, incident, actor, step, UUID(next_step.host), others=others)
        if refusal is None:
            return
        missing_options[step] = refusal


def _start_diagnosis(session: Session, incident: Incident, actor: Actor, snapshot: IncidentSnapshot) -> bool:
    """Diagnose the first host with the symptom, once per incident. The causes attach their playbooks.

    Return whether the autopilot is finished for now: the diagnosis was started, or its refusal stopped the autopilot.
    """
    suspects = [
        host for link, host in snapshot.hosts if link.role in INVESTIGATED_ROLES and host.state == "active"
    ]
    if not suspects or list_incident_diagnoses(session, actor, incident.id, limit=1):
        return False
    try:
        with session.begin_nested():
            diagnose_host(
                session, actor, incident, suspects[0].id, max_tier=(incident.autopilot or {})["tier"]
            )
    except CulpritError as error:
        params = {name: value for name, value in error.params.items() if isinstance(value, str | int | float)}
        autopilot.stop_with_reason(session, incident, None, Sentence(error.key, params))
    return True


def _run_step(
    session: Session, incident: Incident, actor: Actor, step: str, host_id: UUID, *, others: Sequence[str]
) -> Sentence | None:
    """Run the step, and collect the data of the steps `others` in the same capture. Stop if the capture is refused.

    Return the message if only an option of the step is missing.
    """
    pilot = incident.autopilot or {}
    step_run_request = StepRunRequest(version=max(1, incident.version), step=step, host_id=host_id)
    try:
        with session.begin_nested():
            capture = steps.create_step_capture(
                session,
                actor,
                artifact_store(),
                incident,
                step_run_request,
                source="manual",
                tiers=autopilot.list_tiers_up_to(pilot["tier"]),
                also=others,
            )
    except CulpritError as error:
        params = {name: value for name, value in error.params.items() if isinstance(value, str | int | float)}
        refused = Sentence(error.key, params)
        if error.key.startswith(MISSING_OPTION_PREFIX):
            return refused
        autopilot.stop_with_reason(session, incident, None, refused)
        return None
    incident.autopilot = {
        **pilot,
        "capture_id": str(capture.id),
        "step": step,
        "capture_count": pilot.get("capture_count", 0) + 1,
    }
    return None


JOB = Job("culprit.advance_autopilot", "parse", advance_incident, pending_autopilots)
