"""Table of the network allow-list."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.dialects.postgresql import CIDR
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id


class NetworkRule(Base):
    """Addresses and ports that hosts may have. Without a rule, no host can be added."""

    __tablename__ = "network_rule"
    __table_args__ = (CheckConstraint("port_from BETWEEN 1 AND port_to AND port_to <= 65535", name="ports"),)

    id: Mapped[Id]
    cidr: Mapped[str] = mapped_column(CIDR)
    port_from: Mapped[int] = mapped_column(default=22)
    port_to: Mapped[int] = mapped_column(default=22)
    note: Mapped[str] = mapped_column(default="")
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
