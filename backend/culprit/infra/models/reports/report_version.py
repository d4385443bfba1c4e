"""The table of frozen reports."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, JsonList


class ReportVersion(Base):
    """A report as it was at one moment, redacted, for ever: the database lets nobody change it.

    `content` is what leaves, as JSON text in ASCII, and `sha256` that of those bytes. The private map of pseudonyms
    stays here, sealed under the row's own id; only the key around it may change. `hosts` are the ids of the hosts
    that it tells of: who may not see one of them may not see it. `counts` says how much of each kind was replaced.
    `approved_by` is a second person.
    """

    __tablename__ = "report_version"
    __table_args__ = (UniqueConstraint("report_id", "number"),)

    id: Mapped[Id]
    report_id: Mapped[UUID] = mapped_column(ForeignKey("report.id", ondelete="CASCADE"))
    number: Mapped[int]
    content: Mapped[str]
    ciphertext: Mapped[bytes]
    nonce: Mapped[bytes]
    wrapped_key: Mapped[bytes]
    key_version: Mapped[int]
    counts: Mapped[Json] = mapped_column(default=dict)
    hosts: Mapped[JsonList] = mapped_column(default=list)
    sha256: Mapped[str]
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    approved_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    approved_at: Mapped[datetime | None]
