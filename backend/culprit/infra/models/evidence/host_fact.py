"""Table of facts of hosts with the times at which they were read."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, Id


class HostFact(Base):
    """One value of one fact between its first and its last reading.

    An unchanged fact is one row, however often it is read. `value` is null if the setting did not exist.
    `source` is `preflight` or a collector; a fact from an artifact cites it and the line at both ends.
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
