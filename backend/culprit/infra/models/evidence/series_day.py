"""Table of daily summaries: each series by the hour, for views over months."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, Integer
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, JsonList


class SeriesDay(Base):
    """24 hours of one series; `day` counts UTC days since 1970.

    `low`, `mean`, `high` and `count` are float32 [24, k] over `axis_values`, little-endian; NaN (count 0) is
    no data. They are derived from the summaries of `series_chunk` and recomputed for every hour that changes.
    """

    __tablename__ = "series_day"

    series_id: Mapped[UUID] = mapped_column(ForeignKey("series.id", ondelete="CASCADE"), primary_key=True)
    day: Mapped[int] = mapped_column(Integer, primary_key=True)
    axis_values: Mapped[JsonList]
    low: Mapped[bytes]
    mean: Mapped[bytes]
    high: Mapped[bytes]
    count: Mapped[bytes]
