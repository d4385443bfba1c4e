"""Comments on incidents over HTTP."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.incidents import comments, journal
from culprit.incidents.given_comments import CommentAdd, CommentPatch
from culprit.incidents.schemas_chain import PersonRef
from culprit.incidents.schemas_comments import CommentRead
from culprit.infra.db import Db
from culprit.kit.cursor import Cursor, Limit, Page, page
from culprit.models import IncidentComment

router = APIRouter(tags=["incidents"])


@router.get("/incidents/{incident_id}/comments")
def list_comments(
    incident_id: UUID, db: Db, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[CommentRead]:
    """The newest first. Whoever may read the incident may read them."""
    incident = journal.found(db, actor, incident_id)
    return page(
        db,
        comments.listed(incident),
        IncidentComment.id,
        limit=limit,
        cursor=cursor,
        read=lambda rows: comments.read(db, actor, rows),
    )


@router.post("/incidents/{incident_id}/comments", status_code=201, response_model=CommentRead)
def add_comment(
    incident_id: UUID, body: CommentAdd, db: Db, actor: CurrentActor, once: Once
) -> CommentRead | JSONResponse:
    """Plain text; `@name` tells that person through a channel of theirs. It takes no version: nobody is overwritten."""
    return once(body, lambda: comments.read(db, actor, [comments.add(db, actor, incident_id, body)])[0])


@router.patch("/incidents/{incident_id}/comments/{comment_id}")
def mend_comment(
    incident_id: UUID, comment_id: UUID, body: CommentPatch, db: Db, actor: CurrentActor
) -> CommentRead:
    """Only one's own; what it said before stays to be seen."""
    return comments.read(db, actor, [comments.mend(db, actor, incident_id, comment_id, body)])[0]


@router.post("/incidents/{incident_id}/comments/{comment_id}/withdraw")
def withdraw_comment(incident_id: UUID, comment_id: UUID, db: Db, actor: CurrentActor) -> CommentRead:
    """One's own, or anybody's for who may resolve incidents. Its words are gone, that it was there is not."""
    return comments.read(db, actor, [comments.withdraw(db, actor, incident_id, comment_id)])[0]


@router.get("/incidents/{incident_id}/people")
def list_people(incident_id: UUID, db: Db, actor: CurrentActor) -> list[PersonRef]:
    """Who can be named in a comment: accounts for which this incident exists, 500 at most."""
    return [PersonRef(id=one.id, name=one.name) for one in comments.people(db, actor, incident_id)]
