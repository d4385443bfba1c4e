"""The table of verifications: whether a fix did what it was to do."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, JsonList, one_of

VERIFICATION_KINDS = ("plain", "control", "cohort")
VERIFICATION_STATES = ("before", "waiting", "collecting", "judging", "done", "failed", "cancelled")


class Verification(Base):
    """One comparison of before with after.

    `primary` {"read", "better"} was chosen when the fix was written down; `bar` is the change that counts, as a share,
    None for the default. `before` are ids of runs, `after` of captures that were made for it. Asked for while the fix
    is still planned, it first makes the captures of the side before (`made_before`, state `before`), and then waits
    until the fix was applied (`waiting`). `control_host_id` is a host that was not changed. `result` is None until it
    was judged; `failure` is a sentence.
    """

    __tablename__ = "verification"
    __table_args__ = (
        one_of("kind", VERIFICATION_KINDS),
        one_of("state", VERIFICATION_STATES),
        *(
            Index(f"ix_verification_{side}_ids", text(f"mentioned_ids({side})"), postgresql_using="gin")
            for side in ("before", "made_before", "after")
        ),
        Index(
            "ix_verification_open",
            "state",
            postgresql_where=text("state IN ('before', 'collecting', 'judging')"),
        ),
    )

    id: Mapped[Id]
    fix_id: Mapped[UUID] = mapped_column(ForeignKey("fix.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(default="plain")
    primary: Mapped[Json | None]
    bar: Mapped[float | None]
    before: Mapped[JsonList] = mapped_column(default=list)
    made_before: Mapped[JsonList] = mapped_column(default=list)
    after: Mapped[JsonList] = mapped_column(default=list)
    control_host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id"))
    state: Mapped[str] = mapped_column(default="collecting")
    result: Mapped[Json | None]
    failure: Mapped[Json | None]
    requested_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    ended_at: Mapped[datetime | None]
