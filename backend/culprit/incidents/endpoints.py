"""Incidents over HTTP. Every write answers with the incident as it is then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel
from sqlalchemy.orm import Session
from sse_starlette import EventSourceResponse

from culprit.auth.actor import Actor
from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.auth.live import LiveResource, Opener
from culprit.auth.policy import policy
from culprit.captures.endpoints import Store
from culprit.config import Settings
from culprit.incidents import (
    autopilot,
    bundle,
    fixes,
    hypotheses,
    journal,
    live,
    queries,
    read,
    service,
    steps,
    verdicts,
    waivers,
)
from culprit.incidents.given import (
    AutopilotStart,
    FixAdd,
    FixPatch,
    HostsAdd,
    HypothesisAdd,
    HypothesisPatch,
    Id,
    IncidentCreate,
    IncidentPatch,
    NoteAdd,
    PlaybookPatch,
    PlaybooksAdd,
    RunsAdd,
    State,
    StepRun,
    VerdictAdd,
    VerdictWithdraw,
    VerifyAdd,
    WaiverAdd,
    WrongAdd,
)
from culprit.incidents.given_pins import PinAdd
from culprit.incidents.schemas import IncidentRead, IncidentSummary, JournalRead, PinChecked
from culprit.infra.db import Database, Db
from culprit.kit.answers import fast_json
from culprit.kit.cursor import Cursor, Limit, Page, page
from culprit.kit.unit_of_work import let_go
from culprit.models import Incident

router = APIRouter(tags=["incidents"])
Answer = IncidentRead | JSONResponse
Change = Callable[[Session, Actor, UUID, Any], Incident | tuple[Incident, UUID]]


def _add(once: Once, db: Session, actor: Actor, change: Change, incident_id: UUID, body: BaseModel) -> Answer:  # noqa: PLR0917
    """The answer to a POST that may be sent twice."""

    def make() -> IncidentRead:
        return _read(db, actor, change(db, actor, incident_id, body))

    return once(body, make)


def _read(db: Session, actor: Actor, changed: Incident | tuple[Incident, UUID]) -> IncidentRead:
    if isinstance(changed, Incident):
        return read.read(db, actor, changed)
    incident, made = changed
    return read.read(db, actor, incident, made)


@router.get("/incidents")
def list_incidents(  # noqa: PLR0917 - one parameter per query parameter
    db: Db,
    actor: CurrentActor,
    state: Annotated[list[State] | None, Query(max_length=5)] = None,
    host: UUID | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[IncidentSummary]:
    """Incidents, the newest first."""
    policy(actor, "incident.read")
    return page(
        db,
        queries.incidents(actor, state or (), host),
        Incident.number,
        limit=limit,
        cursor=cursor,
        kind=int,
        read=lambda rows: read.summaries(db, actor, rows),
    )


@router.post("/incidents", status_code=201, response_model=IncidentRead)
def create_incident(body: IncidentCreate, db: Db, actor: CurrentActor, once: Once) -> Answer:
    """Opens an incident, from nothing, from a diagnosis or from runs."""
    return once(body, lambda: read.read(db, actor, service.create(db, actor, body)))


@router.get("/incidents/{incident_id}", response_model=IncidentRead)
def get_incident(incident_id: UUID, db: Db, actor: CurrentActor) -> Response:
    """All of an incident: its chain with a verdict for each step and host, what is missing, and what to do next."""
    return fast_json(read.read(db, actor, journal.found(db, actor, incident_id)))


@router.patch("/incidents/{incident_id}")
def change_incident(incident_id: UUID, body: IncidentPatch, db: Db, actor: CurrentActor) -> IncidentRead:
    """Title, symptom, window, severity, state."""
    return read.read(db, actor, service.patch(db, actor, incident_id, body))


@router.post("/incidents/{incident_id}/hosts", status_code=201, response_model=IncidentRead)
def add_hosts(incident_id: UUID, body: HostsAdd, db: Db, actor: CurrentActor, once: Once) -> Answer:
    """More hosts."""
    return _add(once, db, actor, service.add_hosts, incident_id, body)


@router.post("/incidents/{incident_id}/playbooks", status_code=201, response_model=IncidentRead)
def add_playbooks(incident_id: UUID, body: PlaybooksAdd, db: Db, actor: CurrentActor, once: Once) -> Answer:
    """More playbooks, or their newest versions."""
    return _add(once, db, actor, service.add_playbooks, incident_id, body)


@router.patch("/incidents/{incident_id}/playbooks/{playbook_id}")
def change_playbook(
    incident_id: UUID, playbook_id: Id, body: PlaybookPatch, db: Db, actor: CurrentActor
) -> IncidentRead:
    """Set aside as a whole, with one reason for all that it still asks; or taken up again."""
    return read.read(db, actor, waivers.patch_playbook(db, actor, incident_id, playbook_id, body))


@router.post("/incidents/{incident_id}/hypotheses", status_code=201, response_model=IncidentRead)
def add_hypothesis(incident_id: UUID, body: HypothesisAdd, db: Db, actor: CurrentActor, once: Once) -> Answer:
    """An explanation of one's own."""
    return _add(once, db, actor, hypotheses.add_hypothesis, incident_id, body)


@router.patch("/incidents/{incident_id}/hypotheses/{hypothesis_id}")
def decide_hypothesis(
    incident_id: UUID, hypothesis_id: UUID, body: HypothesisPatch, db: Db, actor: CurrentActor
) -> IncidentRead:
    """Refuted, likely, confirmed, or open again."""
    return read.read(db, actor, hypotheses.decide(db, actor, incident_id, hypothesis_id, body))


@router.post("/incidents/{incident_id}/verdicts", status_code=201, response_model=IncidentRead)
def add_verdict(incident_id: UUID, body: VerdictAdd, db: Db, actor: CurrentActor, once: Once) -> Answer:
    """What a step shows, and the pins that show it."""
    return _add(once, db, actor, verdicts.add_verdict, incident_id, body)


@router.post("/incidents/{incident_id}/verdicts/{verdict_id}/withdraw")
def withdraw_verdict(
    incident_id: UUID, verdict_id: UUID, body: VerdictWithdraw, db: Db, actor: CurrentActor
) -> IncidentRead:
    """It does not hold any more."""
    return read.read(db, actor, verdicts.withdraw(db, actor, incident_id, verdict_id, body))


@router.post("/incidents/{incident_id}/pins", status_code=201, response_model=IncidentRead)
def add_pin(  # noqa: PLR0917
    incident_id: UUID, body: PinAdd, db: Db, actor: CurrentActor, store: Store, once: Once
) -> Answer:
    """Evidence; what it shows is read by the server."""

    def make() -> IncidentRead:
        return _read(db, actor, verdicts.add_pin(db, actor, store, incident_id, body))

    return once(body, make)


@router.get("/incidents/{incident_id}/pins/{pin_id}")
def check_pin(incident_id: UUID, pin_id: UUID, db: Db, actor: CurrentActor, store: Store) -> PinChecked:
    """A pin, and whether the bytes behind it are still those that came home."""
    return verdicts.check_pin(db, actor, store, incident_id, pin_id)


@router.post("/incidents/{incident_id}/waivers", status_code=201, response_model=IncidentRead)
def waive_steps(incident_id: UUID, body: WaiverAdd, db: Db, actor: CurrentActor, once: Once) -> Answer:
    """Steps of one playbook may stay unanswered, for a reason."""
    return _add(once, db, actor, waivers.waive, incident_id, body)


@router.post("/incidents/{incident_id}/notes", status_code=201, response_model=IncidentRead)
def add_note(incident_id: UUID, body: NoteAdd, db: Db, actor: CurrentActor, once: Once) -> Answer:
    """Something to remember."""
    return _add(once, db, actor, service.add_note, incident_id, body)


@router.post("/incidents/{incident_id}/runs", status_code=201, response_model=IncidentRead)
def add_runs(incident_id: UUID, body: RunsAdd, db: Db, actor: CurrentActor, once: Once) -> Answer:
    """Runs to look at; their hosts come along."""
    return _add(once, db, actor, service.add_runs, incident_id, body)


@router.post("/incidents/{incident_id}/wrong", status_code=201, response_model=IncidentRead)
def cause_was_wrong(incident_id: UUID, body: WrongAdd, db: Db, actor: CurrentActor, once: Once) -> Answer:
    """A cause that was named was not it."""
    return _add(once, db, actor, verdicts.wrong, incident_id, body)


@router.post("/incidents/{incident_id}/step", status_code=201, response_model=IncidentRead)
def take_step(  # noqa: PLR0917
    incident_id: UUID, body: StepRun, db: Db, actor: CurrentActor, store: Store, once: Once
) -> Answer:
    """Collects what a step needs on a host; `made` is the capture."""

    def make() -> IncidentRead:
        return _read(db, actor, steps.run(db, actor, store, incident_id, body))

    return once(body, make)


@router.post("/incidents/{incident_id}/fixes", status_code=201, response_model=IncidentRead)
def add_fix(incident_id: UUID, body: FixAdd, db: Db, actor: CurrentActor, once: Once) -> Answer:
    """Writes down a fix."""
    return _add(once, db, actor, fixes.add, incident_id, body)


@router.patch("/incidents/{incident_id}/fixes/{fix_id}")
def change_fix(incident_id: UUID, fix_id: UUID, body: FixPatch, db: Db, actor: CurrentActor) -> IncidentRead:
    """It was applied, or taken back, or is told better."""
    return read.read(db, actor, fixes.patch(db, actor, incident_id, fix_id, body))


@router.post("/incidents/{incident_id}/fixes/{fix_id}/verify", status_code=201, response_model=IncidentRead)
def verify_fix(  # noqa: PLR0917
    incident_id: UUID, fix_id: UUID, body: VerifyAdd, db: Db, actor: CurrentActor, once: Once
) -> Answer:
    """Asks whether it helped; `made` is the verification."""
    return once(body, lambda: _read(db, actor, fixes.verify(db, actor, incident_id, fix_id, body)))


@router.post("/incidents/{incident_id}/autopilot", status_code=201, response_model=IncidentRead)
def start_autopilot(
    incident_id: UUID, body: AutopilotStart, db: Db, actor: CurrentActor, once: Once
) -> Answer:
    """The proposed captures are made one after another, up to a tier, until a person is needed."""
    return _add(once, db, actor, autopilot.start, incident_id, body)


@router.delete("/incidents/{incident_id}/autopilot")
def stop_autopilot(incident_id: UUID, db: Db, actor: CurrentActor) -> IncidentRead:
    """By hand again, at once. It takes no version: stopping is always right."""
    return read.read(db, actor, autopilot.stop(db, actor, incident_id))


@router.get("/incidents/{incident_id}/events", response_class=EventSourceResponse)
def incident_events(
    incident_id: UUID, request: Request, db: Db, actor: CurrentActor, opener: Opener, *, once: bool = False
) -> EventSourceResponse:
    """Server-sent events, each when it changed: `version`, `presence` (who has it open), `runs` (their states).

    Ends when its reader loses access. With `once` it tells how they stand and ends, for whoever cannot hold a stream
    open. 429 and 503 say that too many streams are open: read the incident every few seconds instead.
    """
    journal.found(db, actor, incident_id)
    database: Database = request.app.state.database
    settings: Settings = request.app.state.settings
    let_go(db)
    if once:
        return EventSourceResponse(live.list_events(live.look(database.sessions, actor, incident_id) or {}))
    stream = opener.open(actor, LiveResource(incident_id, Incident.id, queries.select_visible_ids))
    return EventSourceResponse(
        live.watch(database.sessions, settings.redis_url, stream, incident_id), ping=15
    )


@router.get("/incidents/{incident_id}/bundle", response_class=Response)
def get_bundle(incident_id: UUID, db: Db, actor: CurrentActor, store: Store) -> Response:
    """The cited artifacts, what was concluded and what it was, without names: a case to test rules with (zip)."""
    incident = journal.found(db, actor, incident_id)
    policy(actor, "artifact.read")
    return StreamingResponse(
        bundle.pieces(bundle.write(db, actor, store, incident)),
        media_type="application/zip",
        headers={
            "Content-Disposition": f"attachment; filename=incident-{incident.number}.zip",
            "X-Content-Type-Options": "nosniff",
        },
    )


@router.get("/incidents/{incident_id}/journal")
def get_journal(
    incident_id: UUID,
    db: Db,
    actor: CurrentActor,
    after: Annotated[int, Query(ge=0, le=(1 << 31) - 1)] = 0,
) -> list[JournalRead]:
    """What happened after a version of the incident, at most a thousand entries."""
    incident = journal.found(db, actor, incident_id)
    return read.journal(db, actor, incident, queries.journal(db, incident.id, after))
