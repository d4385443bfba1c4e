"""Table of diagnoses: staged captures of one host."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Identity, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, JsonList, allow_values
from culprit.json_types import Json

DIAGNOSIS_SOURCES = ("manual", "trigger")
DIAGNOSIS_TIERS = ("light", "standard", "deep")
DIAGNOSIS_STATES = ("running", "done", "failed", "canceled")


class Diagnosis(Base):
    """One diagnosis of one host.

    `scope` is the capture scope, `baseline` how a baseline is chosen (`auto`, `none`, or a run), `peers` are
    IDs of healthy peers that are captured at the same time. `stages` lists in order the capture of each
    stage, its collectors and seconds, and the causes that it decides. No stage has a higher tier than `max_tier`,
    and a diagnosis that a trigger started is limited to unattended tiers (see `culprit.accounts.unattended_tiers`).
    `result` is the answer as sent (see `culprit.analysis.diagnoses.schemas`), None until there is one.
    `incident_id` is the incident that it was started for; `recorded_at` is when its runs and causes were added there.
    """

    __tablename__ = "diagnosis"
    __table_args__ = (
        allow_values("source", DIAGNOSIS_SOURCES),
        allow_values("state", DIAGNOSIS_STATES),
        allow_values("max_tier", DIAGNOSIS_TIERS),
        Index(None, "host_id", "created_at"),
        Index(
            "ix_diagnosis_baseline", "baseline_run_id", postgresql_where=text("baseline_run_id IS NOT NULL")
        ),
        Index("ix_diagnosis_incident", "incident_id", postgresql_where=text("incident_id IS NOT NULL")),
        Index("ix_diagnosis_running", "state", postgresql_where=text("state = 'running'")),
    )

    id: Mapped[Id]
    number: Mapped[int] = mapped_column(BigInteger, Identity(always=False), unique=True)
    host_id: Mapped[UUID] = mapped_column(ForeignKey("host.id"))
    scope: Mapped[Json] = mapped_column(default=dict)
    seconds: Mapped[int]
    baseline: Mapped[str] = mapped_column(default="auto")
    baseline_run_id: Mapped[UUID | None] = mapped_column(ForeignKey("run.id", ondelete="SET NULL"))
    max_tier: Mapped[str] = mapped_column(default="deep", server_default="deep")
    peers: Mapped[JsonList] = mapped_column(default=list)
    reason: Mapped[str] = mapped_column(default="")
    source: Mapped[str] = mapped_column(default="manual", server_default="manual")
    state: Mapped[str] = mapped_column(default="running")
    stages: Mapped[JsonList] = mapped_column(default=list)
    result: Mapped[Json | None]
    failure: Mapped[Json | None]
    incident_id: Mapped[UUID | None] = mapped_column(ForeignKey("incident.id", ondelete="SET NULL"))
    recorded_at: Mapped[datetime | None]
    requested_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    ended_at: Mapped[datetime | None]
