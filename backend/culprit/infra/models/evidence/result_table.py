"""Table of small tables that parsers return."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, Id, JsonList


class ResultTable(Base):
    """A result that is not a series: `columns` [{id, unit}], `rows` lists in that order.

    `lines` has for each row the line of the artifact that it was read from; empty if the parser reports none.
    """

    __tablename__ = "result_table"

    id: Mapped[Id]
    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), index=True)
    run_collector_id: Mapped[UUID | None] = mapped_column(ForeignKey("run_collector.id", ondelete="CASCADE"))
    kind: Mapped[str]
    columns: Mapped[JsonList]
    rows: Mapped[JsonList]
    lines: Mapped[JsonList] = mapped_column(default=list)
    artifact_id: Mapped[UUID | None] = mapped_column(ForeignKey("artifact.id", ondelete="SET NULL"))
