"""Table of comparisons of two profiles."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.infra.models.evidence.profile import JOB_STATES
from culprit.json_types import Json


class ProfileComparison(Base):
    """A saved comparison: `a` before, `b` after, each {profile_id, filter}; `result_key` is the stored tree.

    A side of several profiles names the first as `profile_id` and the others as `also`. `by_base` in `a`:
    functions are matched by their names without build suffixes. `normalize` is no longer used: weights are divided
    when a comparison is rendered; older backups and bundles have it. With `removed_at`, retention has deleted the tree.
    """

    __tablename__ = "profile_comparison"
    __table_args__ = (
        allow_values("state", JOB_STATES),
        Index("ix_profile_comparison_kept", "id", postgresql_where=text("removed_at IS NULL")),
        Index(None, "result_key"),
        Index("ix_profile_comparison_a_ids", text("mentioned_ids(a)"), postgresql_using="gin"),
        Index("ix_profile_comparison_b_ids", text("mentioned_ids(b)"), postgresql_using="gin"),
    )

    id: Mapped[Id]
    a: Mapped[Json]
    b: Mapped[Json]
    normalize: Mapped[bool] = mapped_column(default=False)
    state: Mapped[str] = mapped_column(default="queued")
    failure: Mapped[Json | None]
    result_key: Mapped[str | None]
    requested_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    attempts: Mapped[int] = mapped_column(default=0)
    started_at: Mapped[datetime | None]
    created_at: Mapped[CreatedAt]
    ended_at: Mapped[datetime | None]
    stored_size: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    removed_at: Mapped[datetime | None]
