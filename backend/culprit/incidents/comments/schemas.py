"""What goes out about comments."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel

from culprit.incidents.given_comments import About
from culprit.incidents.schemas_chain import PersonRef


class MentionRead(BaseModel):
    """Somebody who is named in a comment; `told`: a message is on its way through a channel of theirs."""

    id: UUID
    name: str
    told: bool


class EarlierRead(BaseModel):
    """What a comment said before."""

    text: str
    until: datetime


class CommentRead(BaseModel):
    """A comment, as plain text. A withdrawn one has no text any more."""

    id: UUID
    about: About
    ref: str
    text: str
    by: PersonRef | None
    at: datetime
    edited_at: datetime | None
    earlier: list[EarlierRead]
    withdrawn_at: datetime | None
    withdrawn_by: PersonRef | None
    mentions: list[MentionRead]
    mine: bool
    may_withdraw: bool
