"""The table of what was true of hosts, from when to when."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, Id


class HostFact(Base):
    """One value of one fact between the first reading that found it and the last one that still did.

    A fact that does not change is one row, however often it is read. `value` is null where the thing was not there.
    `source` is `preflight` or a collector; what stands in an artifact names it and the line at both ends.
    """

    __tablename__ = "host_fact"
    __table_args__ = (
        CheckConstraint("since_ns <= seen_ns", name="span"),
        UniqueConstraint("host_id", "source", "name", "since_ns"),
        Index(None, "host_id", "since_ns"),
    )

    id: Mapped[Id]
    host_id: Mapped[UUID] = mapped_column(ForeignKey("host.id", ondelete="CASCADE"))
    source: Mapped[str]
    name: Mapped[str]
    value: Mapped[str | None]
    since_ns: Mapped[int] = mapped_column(BigInteger)
    seen_ns: Mapped[int] = mapped_column(BigInteger)
    first_run_id: Mapped[UUID | None] = mapped_column(ForeignKey("run.id", ondelete="SET NULL"), index=True)
    first_artifact_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("artifact.id", ondelete="SET NULL"), index=True
    )
    first_line: Mapped[int | None]
    last_run_id: Mapped[UUID | None] = mapped_column(ForeignKey("run.id", ondelete="SET NULL"), index=True)
    last_artifact_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("artifact.id", ondelete="SET NULL"), index=True
    )
    last_line: Mapped[int | None]
