"""The table of what was told from outside: deploys, changes of configuration, notes."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ColumnElement,
    ForeignKey,
    Index,
    UniqueConstraint,
    func,
    or_,
    select,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.annotation_host import AnnotationHost
from culprit.models.base import Base, CreatedAt, Id, Json


class Annotation(Base):
    """An event that a person or a pipeline told: it cites nobody's bytes, so it says who told it.

    `place` is how the hosts were named: {"kind": everywhere|hosts|labels|service, "labels"?, "service"?}; which ones
    these were at that time stands in annotation_host. What was withdrawn stays, and is shown nowhere but in lists.
    """

    __tablename__ = "annotation"
    __table_args__ = (
        CheckConstraint("end_ns > t_ns", name="span"),
        CheckConstraint("(withdrawn_at IS NULL) = (withdrawn_by IS NULL)", name="withdrawn"),
        UniqueConstraint("told_by", "external_id"),
        Index("ix_annotation_shown", "t_ns", postgresql_where=text("withdrawn_at IS NULL")),
    )

    id: Mapped[Id]
    t_ns: Mapped[int] = mapped_column(BigInteger)
    end_ns: Mapped[int | None] = mapped_column(BigInteger)
    kind: Mapped[str]
    what: Mapped[str]
    who: Mapped[str] = mapped_column(default="")
    detail: Mapped[str] = mapped_column(default="")
    link: Mapped[str | None]
    everywhere: Mapped[bool] = mapped_column(default=False)
    place: Mapped[Json]
    external_id: Mapped[str | None]
    told_by: Mapped[UUID] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    changed_at: Mapped[datetime | None]
    withdrawn_at: Mapped[datetime | None]
    withdrawn_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))

    @staticmethod
    def about(host_id: UUID) -> ColumnElement[bool]:
        """Those that hold for a host and were not withdrawn, as a condition."""
        named = select(AnnotationHost.annotation_id).where(AnnotationHost.host_id == host_id)
        return Annotation.withdrawn_at.is_(None) & or_(Annotation.everywhere, Annotation.id.in_(named))

    @staticmethod
    def within(from_ns: int, to_ns: int) -> ColumnElement[bool]:
        """Those that began before `to_ns` and had not ended by `from_ns`, as a condition."""
        return (Annotation.t_ns < to_ns) & (func.coalesce(Annotation.end_ns, Annotation.t_ns) >= from_ns)
