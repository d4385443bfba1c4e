"""The table of pins: evidence that can be opened again."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.json_types import Json

PIN_KINDS = ("range", "frame", "row", "line", "comparison")


class Pin(Base):
    """Evidence saved in an incident.

    `ref` identifies it (see `culprit.incidents.records.pin_requests`), `view` is the path and query that open it.
    `snapshot` is what it showed when it was pinned, read by the server from its own data. `artifact` is the SHA-256
    of the cited artifact, None if it cites none or several.
    """

    __tablename__ = "pin"
    __table_args__ = (
        allow_values("kind", PIN_KINDS),
        Index("ix_pin_ref_ids", text("mentioned_ids(ref)"), postgresql_using="gin"),
        Index("ix_pin_snapshot_ids", text("mentioned_ids(snapshot)"), postgresql_using="gin"),
    )

    id: Mapped[Id]
    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str]
    ref: Mapped[Json]
    view: Mapped[str]
    snapshot: Mapped[Json]
    artifact: Mapped[str | None]
    step: Mapped[str | None]
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
