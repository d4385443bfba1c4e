"""HTTP endpoints of incidents. Every write returns the changed incident."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel
from sqlalchemy.orm import Session
from sse_starlette import EventSourceResponse

from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.accounts.live import LiveResource, StreamOpenerDep
from culprit.incidents import live_updates
from culprit.incidents.chain import (
    autopilot,
    confirm_cause,
    fixes,
    hypotheses,
    start_diagnosis,
    steps,
    verdicts,
    waivers,
)
from culprit.incidents.records import journal, queries, service
from culprit.incidents.records.pin_requests import PinCreate
from culprit.incidents.records.requests import (
    AutopilotStartRequest,
    CauseConfirmation,
    CauseRejectionCreate,
    FixCreate,
    FixUpdate,
    HypothesisCreate,
    HypothesisUpdate,
    IncidentCreate,
    IncidentDiagnosisCreate,
    IncidentHostsCreate,
    IncidentPlaybooksCreate,
    IncidentPlaybookUpdate,
    IncidentRunsCreate,
    IncidentState,
    IncidentUpdate,
    NoteCreate,
    PlaybookId,
    StepRunRequest,
    VerdictCreate,
    VerdictWithdrawRequest,
    VerificationCreate,
    WaiverCreate,
)
from culprit.incidents.regression_bundle import write
from culprit.incidents.responses import incident as read
from culprit.incidents.responses.schemas import (
    IncidentResponse,
    IncidentSummary,
    JournalEntryResponse,
    PinCheckResponse,
)
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import release_and_expire
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.request_dependencies import DbDep, StoreDep
from culprit.infra.settings import Settings
from culprit.web.http.json_response import fast_json
from culprit.web.http.pagination import Cursor, Limit, Page, build_page

router = APIRouter(tags=["incidents"])
Answer = IncidentResponse | JSONResponse
Change = Callable[[Session, Actor, UUID, Any], Incident | tuple[Incident, UUID]]


def _apply_once(  # noqa: PLR0917
    once: Once, db: Session, actor: Actor, change: Change, incident_id: UUID, body: BaseModel
) -> Answer:
    """Apply a change once per idempotency key, and return the incident."""

    def make() -> IncidentResponse:
        return _build_response(db, actor, change(db, actor, incident_id, body))

    return once(body, make)


def _build_response(db: Session, actor: Actor, changed: Incident | tuple[Incident, UUID]) -> IncidentResponse:
    if isinstance(changed, Incident):
        return read.build_incident(db, actor, changed)
    incident, result = changed
    return read.build_incident(db, actor, incident, result)


@router.get("/incidents")
def list_incidents(  # noqa: PLR0917 - one parameter per query parameter
    db: DbDep,
    actor: CurrentActor,
    state: Annotated[list[IncidentState] | None, Query(max_length=5)] = None,
    host: UUID | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[IncidentSummary]:
    """List incidents, the newest first."""
    authorize(actor, "incident.read")
    return build_page(
        db,
        queries.select_incidents(actor, state or (), host),
        Incident.number,
        limit=limit,
        cursor=cursor,
        kind=int,
        read=lambda rows: read.build_summaries(db, actor, rows),
    )


@router.post("/incidents", status_code=201, response_model=IncidentResponse)
def create_incident(body: IncidentCreate, db: DbDep, actor: CurrentActor, once: Once) -> Answer:
    """Create an incident, empty, from a diagnosis or from runs."""
    return once(body, lambda: read.build_incident(db, actor, service.create_incident(db, actor, body)))


@router.get("/incidents/{incident_id}", response_model=IncidentResponse)
def get_incident(incident_id: UUID, db: DbDep, actor: CurrentActor) -> Response:
    """Get an incident: its evidence chain with a verdict for each step and host, its gaps and its next step."""
    return fast_json(read.build_incident(db, actor, journal.get_incident(db, actor, incident_id)))


@router.patch("/incidents/{incident_id}")
def change_incident(
    incident_id: UUID, body: IncidentUpdate, db: DbDep, actor: CurrentActor
) -> IncidentResponse:
    """Update title, symptom, window, severity or state."""
    return read.build_incident(db, actor, service.update_incident(db, actor, incident_id, body))


@router.post("/incidents/{incident_id}/hosts", status_code=201, response_model=IncidentResponse)
def add_hosts(
    incident_id: UUID, body: IncidentHostsCreate, db: DbDep, actor: CurrentActor, once: Once
) -> Answer:
    """Add hosts."""
    return _apply_once(once, db, actor, service.add_hosts, incident_id, body)


@router.post("/incidents/{incident_id}/playbooks", status_code=201, response_model=IncidentResponse)
def add_playbooks(
    incident_id: UUID, body: IncidentPlaybooksCreate, db: DbDep, actor: CurrentActor, once: Once
) -> Answer:
    """Attach playbooks in their current versions."""
    return _apply_once(once, db, actor, service.add_playbooks, incident_id, body)


@router.patch("/incidents/{incident_id}/playbooks/{playbook_id}")
def change_playbook(
    incident_id: UUID, playbook_id: PlaybookId, body: IncidentPlaybookUpdate, db: DbDep, actor: CurrentActor
) -> IncidentResponse:
    """Dismiss a playbook with a reason, or restore it."""
    return read.build_incident(db, actor, waivers.update_playbook(db, actor, incident_id, playbook_id, body))


@router.post("/incidents/{incident_id}/hypotheses", status_code=201, response_model=IncidentResponse)
def add_hypothesis(
    incident_id: UUID, body: HypothesisCreate, db: DbDep, actor: CurrentActor, once: Once
) -> Answer:
    """Add a hypothesis."""
    return _apply_once(once, db, actor, hypotheses.add_hypothesis, incident_id, body)


@router.patch("/incidents/{incident_id}/hypotheses/{hypothesis_id}")
def decide_hypothesis(
    incident_id: UUID, hypothesis_id: UUID, body: HypothesisUpdate, db: DbDep, actor: CurrentActor
) -> IncidentResponse:
    """Decide a hypothesis: refuted, likely, confirmed, or open again."""
    return read.build_incident(
        db, actor, hypotheses.decide_hypothesis(db, actor, incident_id, hypothesis_id, body)
    )


@router.post("/incidents/{incident_id}/verdicts", status_code=201, response_model=IncidentResponse)
def add_verdict(incident_id: UUID, body: VerdictCreate, db: DbDep, actor: CurrentActor, once: Once) -> Answer:
    """Give a verdict for a step, with pins as evidence."""
    return _apply_once(once, db, actor, verdicts.add_verdict, incident_id, body)


@router.post("/incidents/{incident_id}/verdicts/{verdict_id}/withdraw")
def withdraw_verdict(
    incident_id: UUID, verdict_id: UUID, body: VerdictWithdrawRequest, db: DbDep, actor: CurrentActor
) -> IncidentResponse:
    """Withdraw a verdict."""
    return read.build_incident(db, actor, verdicts.withdraw_verdict(db, actor, incident_id, verdict_id, body))


@router.post("/incidents/{incident_id}/pins", status_code=201, response_model=IncidentResponse)
def add_pin(  # noqa: PLR0917
    incident_id: UUID, body: PinCreate, db: DbDep, actor: CurrentActor, store: StoreDep, once: Once
) -> Answer:
    """Pin evidence. The server reads its content from stored data."""

    def make() -> IncidentResponse:
        return _build_response(db, actor, verdicts.add_pin(db, actor, store, incident_id, body))

    return once(body, make)


@router.get("/incidents/{incident_id}/pins/{pin_id}")
def check_pin(
    incident_id: UUID, pin_id: UUID, db: DbDep, actor: CurrentActor, store: StoreDep
) -> PinCheckResponse:
    """Get a pin and whether its artifacts are intact."""
    return verdicts.check_pin(db, actor, store, incident_id, pin_id)


@router.post("/incidents/{incident_id}/waivers", status_code=201, response_model=IncidentResponse)
def waive_steps(incident_id: UUID, body: WaiverCreate, db: DbDep, actor: CurrentActor, once: Once) -> Answer:
    """Waive steps of one playbook with a reason."""
    return _apply_once(once, db, actor, waivers.waive_steps, incident_id, body)


@router.post("/incidents/{incident_id}/notes", status_code=201, response_model=IncidentResponse)
def add_note(incident_id: UUID, body: NoteCreate, db: DbDep, actor: CurrentActor, once: Once) -> Answer:
    """Add a note to the journal."""
    return _apply_once(once, db, actor, service.add_note, incident_id, body)


@router.post("/incidents/{incident_id}/runs", status_code=201, response_model=IncidentResponse)
def add_runs(
    incident_id: UUID, body: IncidentRunsCreate, db: DbDep, actor: CurrentActor, once: Once
) -> Answer:
    """Add runs and their hosts."""
    return _apply_once(once, db, actor, service.add_runs, incident_id, body)


@router.post("/incidents/{incident_id}/cause-rejections", status_code=201, response_model=IncidentResponse)
def reject_cause(
    incident_id: UUID, body: CauseRejectionCreate, db: DbDep, actor: CurrentActor, once: Once
) -> Answer:
    """Reject a named cause."""
    return _apply_once(once, db, actor, verdicts.reject_cause, incident_id, body)


@router.post("/incidents/{incident_id}/cause-confirmations", status_code=201, response_model=IncidentResponse)
def accept_cause(  # noqa: PLR0917
    incident_id: UUID, body: CauseConfirmation, db: DbDep, actor: CurrentActor, store: StoreDep, once: Once
) -> Answer:
    """Accept a cause that a diagnosis of the incident names: its hypothesis becomes likely."""
    return once(
        body,
        lambda: _build_response(db, actor, confirm_cause.confirm_cause(db, actor, store, incident_id, body)),
    )


@router.post("/incidents/{incident_id}/step-runs", status_code=201, response_model=IncidentResponse)
def run_step(  # noqa: PLR0917
    incident_id: UUID, body: StepRunRequest, db: DbDep, actor: CurrentActor, store: StoreDep, once: Once
) -> Answer:
    """Capture the data that a step needs on a host; `created_id` is the capture."""

    def make() -> IncidentResponse:
        return _build_response(db, actor, steps.run_step(db, actor, store, incident_id, body))

    return once(body, make)


@router.post("/incidents/{incident_id}/diagnoses", status_code=201, response_model=IncidentResponse)
def diagnose_host(
    incident_id: UUID, body: IncidentDiagnosisCreate, db: DbDep, actor: CurrentActor, once: Once
) -> Answer:
    """Diagnose a host for the incident; `created_id` is the diagnosis. Its causes become hypotheses at its end."""
    return _apply_once(once, db, actor, start_diagnosis.start_diagnosis, incident_id, body)


@router.post("/incidents/{incident_id}/fixes", status_code=201, response_model=IncidentResponse)
def add_fix(incident_id: UUID, body: FixCreate, db: DbDep, actor: CurrentActor, once: Once) -> Answer:
    """Create a fix; `created_id` is the fix."""
    return _apply_once(once, db, actor, fixes.create_fix, incident_id, body)


@router.patch("/incidents/{incident_id}/fixes/{fix_id}")
def change_fix(
    incident_id: UUID, fix_id: UUID, body: FixUpdate, db: DbDep, actor: CurrentActor
) -> IncidentResponse:
    """Mark a fix as applied or rolled back, or edit it."""
    return read.build_incident(db, actor, fixes.update_fix(db, actor, incident_id, fix_id, body))


@router.post(
    "/incidents/{incident_id}/fixes/{fix_id}/verify", status_code=201, response_model=IncidentResponse
)
def verify_fix(  # noqa: PLR0917
    incident_id: UUID, fix_id: UUID, body: VerificationCreate, db: DbDep, actor: CurrentActor, once: Once
) -> Answer:
    """Verify a fix; `created_id` is the verification."""
    return once(
        body,
        lambda: _build_response(db, actor, fixes.create_verification(db, actor, incident_id, fix_id, body)),
    )


@router.post("/incidents/{incident_id}/autopilot", status_code=201, response_model=IncidentResponse)
def start_autopilot(
    incident_id: UUID, body: AutopilotStartRequest, db: DbDep, actor: CurrentActor, once: Once
) -> Answer:
    """Start the autopilot: run the proposed captures up to a tier, until a person is needed."""
    return _apply_once(once, db, actor, autopilot.start_autopilot, incident_id, body)


@router.delete("/incidents/{incident_id}/autopilot")
def stop_autopilot(incident_id: UUID, db: DbDep, actor: CurrentActor) -> IncidentResponse:
    """Stop the autopilot. Needs no version."""
    return read.build_incident(db, actor, autopilot.stop_autopilot(db, actor, incident_id))


@router.get("/incidents/{incident_id}/updates", response_class=EventSourceResponse)
def stream_incident(
    incident_id: UUID,
    request: Request,
    db: DbDep,
    actor: CurrentActor,
    opener: StreamOpenerDep,
    *,
    once: bool = False,
) -> EventSourceResponse:
    """Stream changes as server-sent events: `version`, `presence` (who has it open), `runs` (their states).

    The stream ends when the reader loses access. With `once` it sends the current events and ends, for clients that
    cannot keep a stream open. 429 and 503: too many streams are open; poll the incident every few seconds instead.
    """
    journal.get_incident(db, actor, incident_id)
    database: Database = request.app.state.database
    settings: Settings = request.app.state.settings
    release_and_expire(db)
    if once:
        return EventSourceResponse(
            live_updates.send_events(live_updates.load_events(database.sessions, actor, incident_id) or {})
        )
    stream = opener.open(actor, LiveResource(incident_id, Incident.id, queries.select_visible_ids))
    return EventSourceResponse(
        live_updates.stream_updates(database.sessions, settings.redis_url, stream, incident_id), ping=15
    )


@router.get("/incidents/{incident_id}/regression-bundle", response_class=Response)
def get_bundle(incident_id: UUID, db: DbDep, actor: CurrentActor, store: StoreDep) -> Response:
    """Get a test case for rules (zip): cited artifacts, verdicts and confirmed causes, without names."""
    incident = journal.get_incident(db, actor, incident_id)
    authorize(actor, "artifact.read")
    return StreamingResponse(
        write.read_chunks(write.write_bundle(db, actor, store, incident)),
        media_type="application/zip",
        headers={
            "Content-Disposition": f"attachment; filename=incident-{incident.number}.zip",
            "X-Content-Type-Options": "nosniff",
        },
    )


@router.get("/incidents/{incident_id}/journal")
def get_journal(
    incident_id: UUID,
    db: DbDep,
    actor: CurrentActor,
    after: Annotated[int, Query(ge=0, le=(1 << 31) - 1)] = 0,
) -> list[JournalEntryResponse]:
    """List the journal entries after a version, at most 1000."""
    incident = journal.get_incident(db, actor, incident_id)
    return read.build_journal(db, actor, incident, queries.list_entries(db, incident.id, after))
