"""Responses about comments."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel

from culprit.incidents.comments.requests import CommentTarget
from culprit.incidents.responses.chain_schemas import PersonRef


class MentionResponse(BaseModel):
    """A user mentioned in a comment; `notified`: a message is queued on a channel of this user."""

    id: UUID
    name: str
    notified: bool


class EarlierTextResponse(BaseModel):
    """An earlier text of a comment."""

    text: str
    until: datetime


class CommentResponse(BaseModel):
    """A comment in plain text. A withdrawn comment has no text."""

    id: UUID
    about: CommentTarget
    ref: str
    text: str
    by: PersonRef | None
    at: datetime
    edited_at: datetime | None
    earlier: list[EarlierTextResponse]
    withdrawn_at: datetime | None
    withdrawn_by: PersonRef | None
    mentions: list[MentionResponse]
    can_edit: bool
    can_withdraw: bool
