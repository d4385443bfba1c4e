"""The table of comments on incidents."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, JsonList, one_of

COMMENT_ABOUT = ("incident", "step", "hypothesis", "pin")


class IncidentComment(Base):
    """What somebody wrote beside an incident, as plain text. `ref` is the key of a step or of a hypothesis, or the id
    of a pin; empty for the incident itself.

    `earlier` are the texts that it had before, {"text", "until"}. A withdrawn one keeps its row, so that it is seen
    that something stood there; its texts are gone. `mentions` are {"id", "told"}: who was named, and if they were told.
    """

    __tablename__ = "incident_comment"
    __table_args__ = (one_of("about", COMMENT_ABOUT), Index(None, "incident_id", "id"))

    id: Mapped[Id]
    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"))
    about: Mapped[str] = mapped_column(default="incident")
    ref: Mapped[str] = mapped_column(default="")
    text: Mapped[str]
    earlier: Mapped[JsonList] = mapped_column(default=list)
    mentions: Mapped[JsonList] = mapped_column(default=list)
    by: Mapped[UUID] = mapped_column(ForeignKey("user_account.id"))
    at: Mapped[CreatedAt]
    edited_at: Mapped[datetime | None]
    withdrawn_at: Mapped[datetime | None]
    withdrawn_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
