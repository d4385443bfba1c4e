"""Table of reports."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, JsonList, allow_values

REPORT_PRESETS = ("internal", "customer")
REPORT_LANGUAGES = ("en", "zh")


class Report(Base):
    """The draft of a report; the evidence chain and its numbers are read when a version is frozen.

    `comments`: whether it contains the comments of the incident. `kinds` are the redacted kinds, at first
    those of the preset; `words` are more names to redact. `version` counts the changes of the draft,
    `frozen` its frozen versions.
    """

    __tablename__ = "report"
    __table_args__ = (allow_values("preset", REPORT_PRESETS), allow_values("language", REPORT_LANGUAGES))

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
