"""The table of addresses to which one bundle may be sent."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json


class UploadAddress(Base):
    """Lets whoever has it send one bundle without an account; only the SHA-256 of its token is stored.

    `plan` and `seconds` are of the script that the address hands out. The bundle is filed under `host_id`, else under
    an imported host called `host_name`. `claimed_at` is when an upload began that has not ended, and `claimed_until`
    when its receiver is taken for lost; `used_at` is when one became a capture, after which no other does. `failure` is
    why the last of `attempts` did not.
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
