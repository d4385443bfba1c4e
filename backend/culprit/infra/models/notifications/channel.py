"""The table of channels: destinations of notifications."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.json_types import Json

CHANNEL_KINDS = ("webhook", "slack", "email", "grafana")


class Channel(Base):
    """A destination of notifications. A channel with a `user_id` notifies that user about mentions in comments.

    `destination` is the part that users may see; addresses with secrets are sealed.
    """

    __tablename__ = "channel"
    __table_args__ = (allow_values("kind", CHANNEL_KINDS), allow_values("locale", ("en", "zh")))

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    locale: Mapped[str] = mapped_column(default="en")
    enabled: Mapped[bool] = mapped_column(default=True)
    user_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("user_account.id", ondelete="SET NULL"), index=True
    )
    destination: Mapped[Json] = mapped_column(default=dict)
    ciphertext: Mapped[bytes]
    nonce: Mapped[bytes]
    wrapped_key: Mapped[bytes]
    key_version: Mapped[int]
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
