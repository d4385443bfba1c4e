"""The table of reports."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, JsonList, one_of

REPORT_PRESETS = ("internal", "customer")
REPORT_LANGUAGES = ("en", "zh")


class Report(Base):
    """What people write about an incident; the chain and its figures are read when a version is frozen.

    `comments`: whether it tells what people wrote beside the incident.
    `kinds` are what is redacted, beginning as the preset has it; `words` are names that only these people know to be
    names. `version` counts the changes of the draft, `frozen` the versions that were made of it.
    """

    __tablename__ = "report"
    __table_args__ = (one_of("preset", REPORT_PRESETS), one_of("language", REPORT_LANGUAGES))

    id: Mapped[Id]
    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"), index=True)
    title: Mapped[str]
    language: Mapped[str] = mapped_column(default="en")
    zone: Mapped[str] = mapped_column(default="UTC")
    preset: Mapped[str] = mapped_column(default="customer")
    kinds: Mapped[JsonList] = mapped_column(default=list)
    words: Mapped[JsonList] = mapped_column(default=list)
    summary: Mapped[str] = mapped_column(default="")
    impact: Mapped[str] = mapped_column(default="")
    detected_at: Mapped[datetime | None]
    mitigated_at: Mapped[datetime | None]
    follow_ups: Mapped[JsonList] = mapped_column(default=list)
    comments: Mapped[bool] = mapped_column(default=False)
    version: Mapped[int] = mapped_column(default=1)
    frozen: Mapped[int] = mapped_column(default=0)
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    updated_at: Mapped[CreatedAt]
