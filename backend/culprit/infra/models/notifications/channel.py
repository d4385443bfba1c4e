"""The table of channels: where messages go."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, one_of

CHANNEL_KINDS = ("webhook", "slack", "email", "grafana")


class Channel(Base):
    """A place that is told. One that has a `user_id` reaches that person, when a comment names them.

    `shown` is what may be seen of where it leads; addresses with their secrets are sealed.
    """

    __tablename__ = "channel"
    __table_args__ = (one_of("kind", CHANNEL_KINDS), one_of("locale", ("en", "zh")))

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    locale: Mapped[str] = mapped_column(default="en")
    enabled: Mapped[bool] = mapped_column(default=True)
    user_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("user_account.id", ondelete="SET NULL"), index=True
    )
    shown: Mapped[Json] = mapped_column(default=dict)
    ciphertext: Mapped[bytes]
    nonce: Mapped[bytes]
    wrapped_key: Mapped[bytes]
    key_version: Mapped[int]
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
