"""The table of diagnoses: captures in stages that ask one host what is wrong with it."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Identity, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, JsonList, one_of

DIAGNOSIS_SOURCES = ("manual", "trigger")
DIAGNOSIS_STATES = ("running", "done", "failed", "cancelled")


class Diagnosis(Base):
    """One question to one host.

    `scope` is what on the host is looked at, `baseline` how a baseline is chosen (`auto`, `none`, or a run),
    `twins` are ids of healthy hosts that are captured at the same time. `stages` lists, in order, the capture of
    each stage, its collectors and seconds, and which causes it was to settle. `result` is the answer as it is
    sent (see `culprit.diagnoses.schemas`), None until there is one. One that a trigger asked for runs no more than
    what may run without a person (see `culprit.auth.automation`).
    """

    __tablename__ = "diagnosis"
    __table_args__ = (
        one_of("source", DIAGNOSIS_SOURCES),
        one_of("state", DIAGNOSIS_STATES),
        Index(None, "host_id", "created_at"),
        Index(
            "ix_diagnosis_baseline", "baseline_run_id", postgresql_where=text("baseline_run_id IS NOT NULL")
        ),
        Index("ix_diagnosis_running", "state", postgresql_where=text("state = 'running'")),
    )

    id: Mapped[Id]
    number: Mapped[int] = mapped_column(BigInteger, Identity(always=False), unique=True)
    host_id: Mapped[UUID] = mapped_column(ForeignKey("host.id"))
    scope: Mapped[Json] = mapped_column(default=dict)
    seconds: Mapped[int]
    baseline: Mapped[str] = mapped_column(default="auto")
    baseline_run_id: Mapped[UUID | None] = mapped_column(ForeignKey("run.id", ondelete="SET NULL"))
    twins: Mapped[JsonList] = mapped_column(default=list)
    reason: Mapped[str] = mapped_column(default="")
    source: Mapped[str] = mapped_column(default="manual", server_default="manual")
    state: Mapped[str] = mapped_column(default="running")
    stages: Mapped[JsonList] = mapped_column(default=list)
    result: Mapped[Json | None]
    failure: Mapped[Json | None]
    requested_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    ended_at: Mapped[datetime | None]
