"""The table of rotations: who is on call in turn, and from where that is known."""

from __future__ import annotations

from datetime import date, datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, JsonList, one_of

ROTATION_KINDS = ("simple", "calendar", "pagerduty")


class Rotation(Base):
    """A `simple` one hands over at `handover` (HH:MM of `zone`) every `days` days from `first_day` on, to the next of
    `people` (ids of accounts). A `calendar` was uploaded (`calendar` holds it) or is fetched; `pagerduty` is asked.

    `source` is what may be shown of where it is fetched from. The address of a calendar is a secret as a rule, and
    so is a token: both are sealed under the row's own id. `accounts` maps names there to accounts here. `failure` is
    why the last fetch brought nothing: until it is mended the turns of the one before stay.
    """

    __tablename__ = "rotation"
    __table_args__ = (
        one_of("kind", ROTATION_KINDS),
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
