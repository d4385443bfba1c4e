"""The table of verifications of fixes."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, JsonList, allow_values
from culprit.json_types import Json

VERIFICATION_KINDS = ("plain", "control", "cohort", "alternating")
VERIFICATION_STATES = ("before", "waiting", "collecting", "judging", "done", "failed", "canceled")


class Verification(Base):
    """One comparison of before and after a fix.

    `primary` {"read", "better"} was chosen with the hypothesis; `minimum_change` is the smallest relevant change, as a
    share, None for the default. `before` are IDs of runs, `after` of captures created for the verification. If it is
    requested while the fix is planned, it first creates the captures of the side before (`captures_before`, state
    `before`), then waits until the fix is applied (`waiting`); it repeats captures while it waits, so that the time
    between the sides stays short. An `alternating` one also waits until the fix is rolled back. `control_host_id` is an
    unchanged host. `result` is
    None until it is judged; `failure` is a message.
    """

    __tablename__ = "verification"
    __table_args__ = (
        allow_values("kind", VERIFICATION_KINDS),
        allow_values("state", VERIFICATION_STATES),
        *(
            Index(f"ix_verification_{side}_ids", text(f"mentioned_ids({side})"), postgresql_using="gin")
            for side in ("before", "captures_before", "after")
        ),
        Index(
            "ix_verification_open",
            "state",
            postgresql_where=text("state IN ('before', 'waiting', 'collecting', 'judging')"),
        ),
    )

    id: Mapped[Id]
    fix_id: Mapped[UUID] = mapped_column(ForeignKey("fix.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(default="plain")
    primary: Mapped[Json | None]
    minimum_change: Mapped[float | None]
    before: Mapped[JsonList] = mapped_column(default=list)
    captures_before: Mapped[JsonList] = mapped_column(default=list)
    after: Mapped[JsonList] = mapped_column(default=list)
    control_host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id"))
    state: Mapped[str] = mapped_column(default="collecting")
    result: Mapped[Json | None]
    failure: Mapped[Json | None]
    requested_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    ended_at: Mapped[datetime | None]
