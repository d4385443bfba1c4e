"""Table of debuginfod servers."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id


class DebuginfodServer(Base):
    """A server that publishes debugging symbols by build ID. Without a server, no build ID is sent anywhere."""

    __tablename__ = "debuginfod_server"

    id: Mapped[Id]
    url: Mapped[str] = mapped_column(unique=True)
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
