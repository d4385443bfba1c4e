"""Table of visits to shared reports."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id


class ReportVisit(Base):
    """One opening of a link: address, user agent and format."""

    __tablename__ = "report_visit"
    __table_args__ = (Index(None, "share_id", "at"),)

    id: Mapped[Id]
    share_id: Mapped[UUID] = mapped_column(ForeignKey("report_share.id", ondelete="CASCADE"))
    at: Mapped[CreatedAt]
    address: Mapped[str] = mapped_column(default="")
    agent: Mapped[str] = mapped_column(default="")
    form: Mapped[str] = mapped_column(default="html")
