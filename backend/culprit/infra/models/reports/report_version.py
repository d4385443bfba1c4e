"""Table of frozen report versions."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, JsonList
from culprit.json_types import Json


class ReportVersion(Base):
    """A redacted report at one time. The database allows no change of it.

    `content` is the shared JSON text in ASCII, and `sha256` its digest. The private map of pseudonyms is
    sealed under the ID of the row; only the key around it may change. `hosts` are the IDs of its hosts: a
    user must see all of them to see the version. `counts` are the numbers of replacements by kind.
    `approved_by` is a second user.
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
