"""The table of accounts."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, one_of

ROLES = ("viewer", "investigator", "oncall", "admin")  # each may what those before it may
LOCALES = ("en", "zh")


class UserAccount(Base):
    """A person. `label_scope` limits the hosts: every label named there must have one of its values.

    `{}` is all hosts; `{"role": ["feed", "ads"], "dc": ["ix1"]}` those that match both. An admin has no scope: admin
    actions reach the whole platform.
    """

    __tablename__ = "user_account"
    __table_args__ = (
        one_of("role", ROLES),
        one_of("locale", LOCALES),
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
