"""Table of series: each metric with its labels, once per host."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, Id
from culprit.json_types import Json


class StoredSeries(Base):
    """A metric of a host. `labels_key` is the canonical JSON of `labels`.

    `first_ns` and `last_ns` are the outer bounds of all stored values; retention may have deleted values in
    between.
    """

    __tablename__ = "series"
    __table_args__ = (UniqueConstraint("host_id", "metric", "labels_key"),)

    id: Mapped[Id]
    host_id: Mapped[UUID] = mapped_column(ForeignKey("host.id"))
    metric: Mapped[str]
    labels: Mapped[Json] = mapped_column(default=dict)
    labels_key: Mapped[str]
    axis: Mapped[str | None]
    first_ns: Mapped[int] = mapped_column(BigInteger)
    last_ns: Mapped[int] = mapped_column(BigInteger)
