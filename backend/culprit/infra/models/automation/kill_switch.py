"""Table of kill switches."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values

KILL_SWITCH_KINDS = ("everywhere", "label", "host")


class KillSwitch(Base):
    """While `deactivated_at` is None nothing starts in its range: all hosts, hosts with a label, or one host.

    `place` is its range as one text, which prevents duplicates.
    """

    __tablename__ = "kill_switch"
    __table_args__ = (
        allow_values("kind", KILL_SWITCH_KINDS),
        CheckConstraint(
            "(kind = 'host') = (host_id IS NOT NULL) AND (kind = 'label') = (label_name IS NOT NULL)"
            " AND (label_name IS NULL) = (label_value IS NULL)",
            name="scope",
        ),
        Index("uq_kill_switch_place", "place", unique=True, postgresql_where=text("deactivated_at IS NULL")),
    )

    id: Mapped[Id]
    kind: Mapped[str]
    host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id"))
    label_name: Mapped[str | None]
    label_value: Mapped[str | None]
    place: Mapped[str]
    reason: Mapped[str] = mapped_column(default="")
    activated_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    deactivated_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    deactivated_at: Mapped[datetime | None]
