"""Table of evaluations: summary of all rule results of a run."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, JsonList
from culprit.json_types import Json


class Evaluation(Base):
    """One row for each evaluated run; it is replaced when the run is parsed again.

    Matches are in `finding`. `not_matched` and `not_evaluated` hold the other findings as JSON, so that a
    capture without matches costs one row. `ranking` is the result of `culprit.domain.rules.ranking.rank` for this run
    alone.
    """

    __tablename__ = "evaluation"

    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    at: Mapped[CreatedAt]
    elapsed_ms: Mapped[float]
    not_matched: Mapped[JsonList] = mapped_column(default=list)
    not_evaluated: Mapped[JsonList] = mapped_column(default=list)
    ranking: Mapped[Json] = mapped_column(default=dict)
