"""Table of the audit log."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, Identity
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, Id
from culprit.json_types import Json


class AuditEntry(Base):
    """One action of a user.

    Rows are only added: a trigger refuses changes, and each hash covers the previous one.
    """

    __tablename__ = "audit_entry"

    id: Mapped[Id]
    seq: Mapped[int] = mapped_column(BigInteger, Identity(always=False), unique=True)
    at: Mapped[datetime]
    actor_id: Mapped[UUID | None]
    actor_name: Mapped[str]
    action: Mapped[str]
    resource_kind: Mapped[str]
    resource_id: Mapped[str]
    detail: Mapped[Json] = mapped_column(default=dict)
    address: Mapped[str | None]
    prev_hash: Mapped[bytes]
    hash: Mapped[bytes]
