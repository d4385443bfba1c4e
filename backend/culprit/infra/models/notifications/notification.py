"""The table of messages to channels."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Identity, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, one_of

NOTICE_STATES = ("queued", "sent", "dead")
NOTICE_ABOUT = ("firing", "mention", "test")


class Notice(Base):
    """One message to one channel. `message` is as `culprit.core.notices.message.Message`, told in no language yet.

    It is tried from `not_before` on; every try is counted before it begins, so that one that never returns counts too.
    A `dead` one was refused for good or failed too often; `failure` says why.
    """

    __tablename__ = "notice"
    __table_args__ = (
        one_of("state", NOTICE_STATES),
        one_of("about", NOTICE_ABOUT),
        UniqueConstraint("channel_id", "firing_id"),
        Index("ix_notice_queued", "not_before", postgresql_where=text("state = 'queued'")),
    )

    id: Mapped[Id]
    number: Mapped[int] = mapped_column(BigInteger, Identity(always=False), unique=True)
    channel_id: Mapped[UUID] = mapped_column(ForeignKey("channel.id", ondelete="CASCADE"), index=True)
    about: Mapped[str]
    firing_id: Mapped[UUID | None] = mapped_column(ForeignKey("firing.id", ondelete="CASCADE"), index=True)
    host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id"))
    message: Mapped[Json]
    state: Mapped[str] = mapped_column(default="queued")
    tries: Mapped[int] = mapped_column(default=0)
    not_before: Mapped[CreatedAt]
    failure: Mapped[Json | None]
    created_at: Mapped[CreatedAt]
    sent_at: Mapped[datetime | None]
