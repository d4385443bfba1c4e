"""The table of annotations that are kept in Grafana."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, one_of

ANNOTATION_STATES = ("queued", "sent", "dead", "gone")


class GrafanaAnnotation(Base):
    """One thing (`key`) in one Grafana (a channel), as it shall be there: `wanted` with its `digest`; `removed`: not at
    all. `grafana_id` is its number there, None while none is known.

    Every change puts it into the queue again. A try is counted before it begins; `failure` is of the last.
    """

    __tablename__ = "grafana_annotation"
    __table_args__ = (
        one_of("state", ANNOTATION_STATES),
        UniqueConstraint("channel_id", "key"),
        Index("ix_grafana_annotation_queued", "not_before", postgresql_where=text("state = 'queued'")),
    )

    id: Mapped[Id]
    channel_id: Mapped[UUID] = mapped_column(ForeignKey("channel.id", ondelete="CASCADE"))
    key: Mapped[str]
    wanted: Mapped[Json]
    digest: Mapped[str]
    removed: Mapped[bool] = mapped_column(default=False)
    grafana_id: Mapped[int | None] = mapped_column(BigInteger)
    state: Mapped[str] = mapped_column(default="queued")
    tries: Mapped[int] = mapped_column(default=0)
    not_before: Mapped[CreatedAt]
    failure: Mapped[Json | None]
    created_at: Mapped[CreatedAt]
    sent_at: Mapped[datetime | None]
