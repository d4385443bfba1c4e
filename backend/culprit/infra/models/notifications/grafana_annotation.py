"""The table of annotations in Grafana."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.json_types import Json

ANNOTATION_STATES = ("queued", "sent", "failed", "deleted")


class GrafanaAnnotation(Base):
    """The annotation about one object (`key`) in one Grafana (a channel), as it must be there.

    `body` is its content and `digest` the hash of that; `is_deleted` means that it must not exist.
    `grafana_id` is its ID in Grafana, if known. Every change queues it again. An attempt is counted before it
    starts; `failure` is the reason of the last failed attempt.
    """

    __tablename__ = "grafana_annotation"
    __table_args__ = (
        allow_values("state", ANNOTATION_STATES),
        UniqueConstraint("channel_id", "key"),
        Index("ix_grafana_annotation_queued", "not_before", postgresql_where=text("state = 'queued'")),
    )

    id: Mapped[Id]
    channel_id: Mapped[UUID] = mapped_column(ForeignKey("channel.id", ondelete="CASCADE"))
    key: Mapped[str]
    body: Mapped[Json]
    digest: Mapped[str]
    is_deleted: Mapped[bool] = mapped_column(default=False)
    grafana_id: Mapped[int | None] = mapped_column(BigInteger)
    state: Mapped[str] = mapped_column(default="queued")
    attempts: Mapped[int] = mapped_column(default=0)
    not_before: Mapped[CreatedAt]
    failure: Mapped[Json | None]
    created_at: Mapped[CreatedAt]
    sent_at: Mapped[datetime | None]
