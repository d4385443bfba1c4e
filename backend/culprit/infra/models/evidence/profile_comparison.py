"""The table of comparisons of two profiles."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, one_of
from culprit.models.profile import JOB_STATES


class ProfileDiff(Base):
    """A saved comparison: `a` before, `b` after, each {profile_id, filter}; `result_key` holds the tree.

    A side of several profiles names the first as `profile_id` and the others as `also`. `by_base` in `a`: functions
    are told apart by their names without the marks of a build. With `removed_at` retention has deleted the tree.
    """

    __tablename__ = "profile_diff"
    __table_args__ = (
        one_of("state", JOB_STATES),
        Index("ix_profile_diff_kept", "id", postgresql_where=text("removed_at IS NULL")),
        Index(None, "result_key"),
        Index("ix_profile_diff_a_ids", text("mentioned_ids(a)"), postgresql_using="gin"),
        Index("ix_profile_diff_b_ids", text("mentioned_ids(b)"), postgresql_using="gin"),
    )

    id: Mapped[Id]
    a: Mapped[Json]
    b: Mapped[Json]
    normalise: Mapped[bool] = mapped_column(default=False)
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
