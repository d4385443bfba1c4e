"""Table of one-time upload addresses."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id
from culprit.json_types import Json


class UploadAddress(Base):
    """Accepts one bundle without an account; only the SHA-256 of its token is stored.

    `plan` and `seconds` are those of the script that the address returns. The bundle is stored under
    `host_id`, else under an imported host `host_name`. `claimed_at` is when the current upload began, and
    `claimed_until` when its receiver counts as lost; `used_at` is when a bundle became a capture. `failure`
    is the message of the last of `attempts`.
    """

    __tablename__ = "upload_address"

    id: Mapped[Id]
    host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id", ondelete="CASCADE"))
    host_name: Mapped[str]
    plan: Mapped[str]
    seconds: Mapped[int | None]
    token_hash: Mapped[bytes] = mapped_column(unique=True)
    max_bytes: Mapped[int] = mapped_column(BigInteger)
    note: Mapped[str] = mapped_column(default="")
    expires_at: Mapped[datetime]
    created_by: Mapped[UUID] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    revoked_at: Mapped[datetime | None]
    claimed_at: Mapped[datetime | None]
    claimed_until: Mapped[datetime | None]
    used_at: Mapped[datetime | None]
    used_from: Mapped[str | None]
    size: Mapped[int | None] = mapped_column(BigInteger)
    attempts: Mapped[int] = mapped_column(default=0)
    failure: Mapped[Json | None]
    capture_id: Mapped[UUID | None] = mapped_column(ForeignKey("capture.id", ondelete="SET NULL"), index=True)
