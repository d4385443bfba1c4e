"""The table of comments on incidents."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, JsonList, allow_values

COMMENT_ABOUT = ("incident", "step", "hypothesis", "pin")


class IncidentComment(Base):
    """A comment in plain text. `ref` is the key of a step or hypothesis, or the ID of a pin; empty for the incident.

    `earlier` are its previous texts, {"text", "until"}. A withdrawn comment keeps its row without texts. `mentions`
    are the mentioned users, {"id", "notified"}.
    """

    __tablename__ = "incident_comment"
    __table_args__ = (allow_values("about", COMMENT_ABOUT), Index(None, "incident_id", "id"))

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
