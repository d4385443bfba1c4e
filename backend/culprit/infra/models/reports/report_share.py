"""Table of share links of reports."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id


class ReportShare(Base):
    """A link that shows one version to anyone who has it; only the SHA-256 of its token is stored."""

    __tablename__ = "report_share"

    id: Mapped[Id]
    version_id: Mapped[UUID] = mapped_column(ForeignKey("report_version.id", ondelete="CASCADE"), index=True)
    token_hash: Mapped[bytes] = mapped_column(unique=True)
    note: Mapped[str] = mapped_column(default="")
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
