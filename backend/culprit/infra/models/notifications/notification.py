"""The table of notifications: messages to channels."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Identity, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.json_types import Json

NOTIFICATION_STATES = ("queued", "sent", "failed")
NOTIFICATION_ABOUT = ("diagnosis", "mention", "test")


class Notification(Base):
    """One notification to one channel. `message` is a `NotificationContent`, in no language yet.

    Delivery starts at `not_before`. An attempt is counted before it starts, so that one that never returns
    counts. A `failed` message was rejected permanently or failed too often; `failure` is the reason.
    """

    __tablename__ = "notification"
    __table_args__ = (
        allow_values("state", NOTIFICATION_STATES),
        allow_values("about", NOTIFICATION_ABOUT),
        UniqueConstraint("channel_id", "trigger_response_id"),
        Index("ix_notification_queued", "not_before", postgresql_where=text("state = 'queued'")),
    )

    id: Mapped[Id]
    number: Mapped[int] = mapped_column(BigInteger, Identity(always=False), unique=True)
    channel_id: Mapped[UUID] = mapped_column(ForeignKey("channel.id", ondelete="CASCADE"), index=True)
    about: Mapped[str]
    trigger_response_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("trigger_response.id", ondelete="CASCADE"), index=True
    )
    host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id"))
    message: Mapped[Json]
    state: Mapped[str] = mapped_column(default="queued")
    attempts: Mapped[int] = mapped_column(default=0)
    not_before: Mapped[CreatedAt]
    failure: Mapped[Json | None]
    created_at: Mapped[CreatedAt]
    sent_at: Mapped[datetime | None]
