"""Table of accounts."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.json_types import Json

ROLES = (
    "viewer",
    "investigator",
    "oncall",
    "admin",
)  # each role includes the permissions of the previous ones
LOCALES = ("en", "zh")


class UserAccount(Base):
    """An account. `label_scope` limits the visible hosts: every label in it must have one of its values.

    `{}` is all hosts; `{"role": ["feed", "ads"], "dc": ["ix1"]}` those that match both. An admin has no
    scope, because admin actions affect the whole platform.
    """

    __tablename__ = "user_account"
    __table_args__ = (
        allow_values("role", ROLES),
        allow_values("locale", LOCALES),
        CheckConstraint("role <> 'admin' OR label_scope = '{}'::jsonb", name="admin_unscoped"),
    )

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(unique=True)
    password_hash: Mapped[str | None]
    role: Mapped[str]
    label_scope: Mapped[Json] = mapped_column(default=dict)
    locale: Mapped[str] = mapped_column(default="en")
    disabled_at: Mapped[datetime | None]
    created_at: Mapped[CreatedAt]
