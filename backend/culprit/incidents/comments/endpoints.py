"""HTTP endpoints of comments."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.incidents.comments import queries, service
from culprit.incidents.comments.requests import CommentCreate, CommentUpdate
from culprit.incidents.comments.schemas import CommentResponse
from culprit.incidents.records import journal
from culprit.incidents.responses.chain_schemas import PersonRef
from culprit.infra.models.incidents.incident_comment import IncidentComment
from culprit.infra.request_dependencies import DbDep
from culprit.web.http.pagination import Cursor, Limit, Page, build_page

router = APIRouter(tags=["incidents"])


@router.get("/incidents/{incident_id}/comments")
def list_comments(
    incident_id: UUID, db: DbDep, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[CommentResponse]:
    """List the comments, the newest first."""
    incident = journal.get_incident(db, actor, incident_id)
    return build_page(
        db,
        queries.select_comments(incident.id),
        IncidentComment.id,
        limit=limit,
        cursor=cursor,
        read=lambda rows: service.build_comments(db, actor, rows),
    )


@router.post("/incidents/{incident_id}/comments", status_code=201, response_model=CommentResponse)
def add_comment(
    incident_id: UUID, body: CommentCreate, db: DbDep, actor: CurrentActor, once: Once
) -> CommentResponse | JSONResponse:
    """Add a comment in plain text. `@name` notifies that user through their channels. Needs no version."""
    return once(
        body,
        lambda: service.build_comments(db, actor, [service.add_comment(db, actor, incident_id, body)])[0],
    )


@router.patch("/incidents/{incident_id}/comments/{comment_id}")
def edit_comment(
    incident_id: UUID, comment_id: UUID, body: CommentUpdate, db: DbDep, actor: CurrentActor
) -> CommentResponse:
    """Edit an own comment. Earlier texts stay visible."""
    return service.build_comments(
        db, actor, [service.edit_comment(db, actor, incident_id, comment_id, body)]
    )[0]


@router.post("/incidents/{incident_id}/comments/{comment_id}/withdraw")
def withdraw_comment(incident_id: UUID, comment_id: UUID, db: DbDep, actor: CurrentActor) -> CommentResponse:
    """Withdraw an own comment, or any with the permission to resolve. Its text is deleted, the entry stays."""
    return service.build_comments(db, actor, [service.withdraw_comment(db, actor, incident_id, comment_id)])[
        0
    ]


@router.get("/incidents/{incident_id}/people")
def list_people(incident_id: UUID, db: DbDep, actor: CurrentActor) -> list[PersonRef]:
    """List the users who can be mentioned: those who see this incident, at most 500."""
    return [
        PersonRef(id=person.id, name=person.name) for person in service.list_people(db, actor, incident_id)
    ]
