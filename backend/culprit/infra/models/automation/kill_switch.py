"""The table of kill switches: where nothing may start."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, one_of

KILL_SWITCH_KINDS = ("everywhere", "label", "host")


class KillSwitch(Base):
    """While `lifted_at` is None nothing starts where it holds: everywhere, on hosts with a label, or on one host.

    `place` is its scope as one text, so that the same switch is not pulled twice.
    """

    __tablename__ = "kill_switch"
    __table_args__ = (
        one_of("kind", KILL_SWITCH_KINDS),
        CheckConstraint(
            "(kind = 'host') = (host_id IS NOT NULL) AND (kind = 'label') = (label_name IS NOT NULL)"
            " AND (label_name IS NULL) = (label_value IS NULL)",
            name="scope",
        ),
        Index("uq_kill_switch_place", "place", unique=True, postgresql_where=text("lifted_at IS NULL")),
    )

    id: Mapped[Id]
    kind: Mapped[str]
    host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id"))
    label_name: Mapped[str | None]
    label_value: Mapped[str | None]
    place: Mapped[str]
    reason: Mapped[str] = mapped_column(default="")
    pulled_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    lifted_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    lifted_at: Mapped[datetime | None]
