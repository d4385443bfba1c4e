"""The table of pins: evidence that can be shown again."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, one_of

PIN_KINDS = ("range", "frame", "row", "line", "comparison")


class Pin(Base):
    """A place that speaks for or against something.

    `ref` says which (see `culprit.incidents.schemas`), `view` is the path and query that open exactly that. `said` is
    what stood there when it was pinned, filled by the server from its own data. `artifact` is the SHA-256 of the bytes
    behind it, None where it rests on many.
    """

    __tablename__ = "pin"
    __table_args__ = (
        one_of("kind", PIN_KINDS),
        Index("ix_pin_ref_ids", text("mentioned_ids(ref)"), postgresql_using="gin"),
        Index("ix_pin_said_ids", text("mentioned_ids(said)"), postgresql_using="gin"),
    )

    id: Mapped[Id]
    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str]
    ref: Mapped[Json]
    view: Mapped[str]
    said: Mapped[Json]
    artifact: Mapped[str | None]
    step: Mapped[str | None]
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
