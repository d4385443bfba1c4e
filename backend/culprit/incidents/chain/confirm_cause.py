"""Accept a cause that a diagnosis names, with the numbers that prove it as pins."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.analysis.diagnoses import service as diagnoses
from culprit.incidents.chain import hypotheses, verdicts
from culprit.incidents.records import journal
from culprit.incidents.records.pin_requests import MAX_LINES, LinePin, LineRef
from culprit.incidents.records.playbook_versions import CUSTOM_PLAYBOOK_ID
from culprit.incidents.records.requests import CauseConfirmation, HypothesisUpdate, VerdictCreate
from culprit.incidents.records.snapshot import load_snapshot
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.incidents.hypothesis import Hypothesis
from culprit.infra.models.incidents.incident import Incident
from culprit.json_types import Json
from culprit.web.errors import InvalidRequestError, NotFoundError

#: Maximum number of numbers to pin, the most significant first.
MAX_PINS = 3
#: Maximum number of lines that the URL of a pin highlights.
MAX_MARKED = 40


def confirm_cause(
    session: Session, actor: Actor, store: ArtifactStore, incident_id: UUID, body: CauseConfirmation
) -> Incident:
    """Make the hypothesis of the cause likely. `confirmed` needs a fix that was verified.

    A hypothesis without a playbook has one step, which a user answers. That answer is given here, with pins of the
    lines that the diagnosis cites. The steps of a playbook are answered by its rules.

    Raises:
        NotFoundError, ForbiddenError: The actor cannot see or change the incident or the diagnosis.
        ConflictError: The incident was changed, or its evidence does not allow this decision.
        InvalidRequestError: The diagnosis does not name the cause, or cites no line for it.
    """
    incident = journal.lock_version(session, actor, incident_id, body.version)
    diagnosis = diagnoses.get_diagnosis(session, actor, body.diagnosis_id)
    if diagnosis.incident_id != incident.id:
        raise NotFoundError("diagnosis.not_found")
    named = next(
        (item for item in (diagnosis.result or {}).get("causes", ()) if item["id"] == body.cause), None
    )
    snapshot = load_snapshot(session, None, incident)
    candidates = [item for item in snapshot.hypotheses if item.cause == body.cause]
    if named is None or not candidates:
        raise InvalidRequestError("incident.no_cause", cause=body.cause)
    hypothesis = max(candidates, key=lambda item: bool(snapshot.get_hypothesis_state(item.key).supports))
    is_custom = hypothesis.key.startswith(f"{CUSTOM_PLAYBOOK_ID}/")
    if is_custom and not snapshot.get_hypothesis_state(hypothesis.key).supports:
        _answer_step(session, actor, store, incident, diagnosis, hypothesis, named)
    return hypotheses.decide_hypothesis(
        session, actor, incident.id, hypothesis.id, HypothesisUpdate(version=incident.version, state="likely")
    )


def _answer_step(  # noqa: PLR0917
    session: Session,
    actor: Actor,
    store: ArtifactStore,
    incident: Incident,
    diagnosis: Diagnosis,
    hypothesis: Hypothesis,
    named: Json,
) -> None:
    """Answer the only step of a hypothesis without a playbook; its key is that of the hypothesis."""
    pins = []
    for ref in _list_cited_lines(named):
        marked = ",".join(map(str, ref.lines[:MAX_MARKED]))
        view = f"/artifacts/{ref.artifact_id}?line={ref.lines[0]}&lines={marked}"
        pin = LinePin(version=incident.version, view=view, step=hypothesis.key, kind="line", ref=ref)
        pins.append(verdicts.add_pin(session, actor, store, incident.id, pin)[1])
    verdict = VerdictCreate(
        version=incident.version,
        step=hypothesis.key,
        host_id=diagnosis.host_id,
        verdict="supports",
        pins=pins,
    )
    verdicts.add_verdict(session, actor, incident.id, verdict)


def _list_cited_lines(named: Json) -> Iterator[LineRef]:
    """Yield the distinct source lines of the first numbers of a cause. A frame of a profile has no lines."""
    sources: dict[tuple[str, tuple[int, ...]], str] = {}
    for item in named["evidence"]:
        lines = tuple(item["locator"].get("lines") or ())[:MAX_LINES]
        if item.get("artifact") and lines:
            sources.setdefault((item["artifact"], lines), item["locator"].get("part", ""))
    for (artifact, lines), part in list(sources.items())[:MAX_PINS]:
        yield LineRef(artifact_id=UUID(artifact), part=part, lines=list(lines))
