"""Table of metric values over time, many values to a row."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, Id, JsonList
from culprit.json_types import Json

HOUR_NS = 3_600_000_000_000


class SeriesChunk(Base):
    """One metric of one run as a matrix [n, k], k over `axis_values`, within one UTC hour.

    `level` 0 is raw; level j holds minimum, mean, maximum and count over up to 8^j raw rows. `data` and
    `lines` are encoded by `culprit.domain.series.chunks`. `step_ns` is the typical interval of rows of this
    level, `raw_step_ns` that of raw rows. `summary` (level 0 only) is the whole chunk in one row: float32 [4,
    k], so that coarse zoom levels do not read `data`. Runs without a host have no `series_id`.
    """

    __tablename__ = "series_chunk"
    __table_args__ = (
        CheckConstraint(f"t1_ns - t0_ns BETWEEN 0 AND {HOUR_NS}", name="within_an_hour"),
        Index(None, "series_id", "t0_ns", "level"),
        Index(None, "run_id", "metric", "level"),
    )

    id: Mapped[Id]
    series_id: Mapped[UUID | None] = mapped_column(ForeignKey("series.id", ondelete="CASCADE"))
    host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id"))
    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"))
    run_collector_id: Mapped[UUID | None] = mapped_column(ForeignKey("run_collector.id", ondelete="CASCADE"))
    metric: Mapped[str]
    labels: Mapped[Json] = mapped_column(default=dict)
    axis: Mapped[str | None]
    axis_values: Mapped[JsonList | None]
    level: Mapped[int] = mapped_column(SmallInteger, default=0)
    t0_ns: Mapped[int] = mapped_column(BigInteger)
    t1_ns: Mapped[int] = mapped_column(BigInteger)
    step_ns: Mapped[int] = mapped_column(BigInteger, default=0)
    raw_step_ns: Mapped[int] = mapped_column(BigInteger, default=0)
    n: Mapped[int]
    data: Mapped[bytes]
    summary: Mapped[bytes | None]
    artifact_id: Mapped[UUID | None] = mapped_column(ForeignKey("artifact.id", ondelete="SET NULL"))
    lines: Mapped[bytes | None]
    parser_version: Mapped[int] = mapped_column(default=1)
