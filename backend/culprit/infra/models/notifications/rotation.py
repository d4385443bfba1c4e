"""Table of on-call rotations and their sources."""

from __future__ import annotations

from datetime import date, datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, JsonList, allow_values
from culprit.json_types import Json

ROTATION_KINDS = ("simple", "calendar", "pagerduty")


class Rotation(Base):
    """Who is on call, in turn.

    A `simple` rotation hands over at `handover` (HH:MM of `zone`) every `days` days from `first_day` on, to
    the next of `people` (account IDs). A `calendar` was uploaded (`calendar` holds it) or is fetched;
    `pagerduty` is fetched. `source` is the public part of the address. The address of a calendar and a token
    are encrypted under the row's ID. `accounts` maps external names to accounts. `failure` is the reason of
    the last failed fetch; the previous shifts are kept until a fetch succeeds.
    """

    __tablename__ = "rotation"
    __table_args__ = (
        allow_values("kind", ROTATION_KINDS),
        CheckConstraint("days BETWEEN 1 AND 366", name="days"),
        CheckConstraint("(ciphertext IS NULL) = (key_version IS NULL)", name="secret"),
    )

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    zone: Mapped[str] = mapped_column(default="UTC")
    handover: Mapped[str] = mapped_column(default="09:00")
    first_day: Mapped[date | None]
    days: Mapped[int] = mapped_column(default=7)
    people: Mapped[JsonList] = mapped_column(default=list)
    source: Mapped[Json] = mapped_column(default=dict)
    accounts: Mapped[Json] = mapped_column(default=dict)
    calendar: Mapped[str | None]
    ciphertext: Mapped[bytes | None]
    nonce: Mapped[bytes | None]
    wrapped_key: Mapped[bytes | None]
    key_version: Mapped[int | None]
    fetch_after: Mapped[datetime | None] = mapped_column(index=True)
    fetched_at: Mapped[datetime | None]
    failure: Mapped[Json | None]
    version: Mapped[int] = mapped_column(default=1)
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
