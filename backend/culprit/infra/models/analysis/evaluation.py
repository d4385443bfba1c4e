"""The table of evaluations: what every rule said about a run, in short."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Json, JsonList


class Evaluation(Base):
    """One for each run that was evaluated; it is replaced when the run is read again.

    What fired is in `finding`; `quiet` and `not_evaluated` hold the rest as findings in JSON, so that a year of
    quiet captures costs one row each. `ranking` is what `culprit.core.rules.rank` said about this run alone.
    """

    __tablename__ = "evaluation"

    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    at: Mapped[CreatedAt]
    elapsed_ms: Mapped[float]
    quiet: Mapped[JsonList] = mapped_column(default=list)
    not_evaluated: Mapped[JsonList] = mapped_column(default=list)
    ranking: Mapped[Json] = mapped_column(default=dict)
