"""Table of the identity provider for single sign-on."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.accounts.user_account import ROLES
from culprit.infra.models.base import Base, CreatedAt, Id, JsonList, allow_values


class OidcProvider(Base):
    """The identity provider; `singleton` allows one row. `issuer` must equal the issuer of tokens exactly.

    `roles` is a list of {"group", "role"}; the highest matching role applies. Without a match, `default_role`
    applies, or the sign-in is refused if it is null. The client secret is sealed with the row ID; a public
    client has none.
    """

    __tablename__ = "oidc_provider"
    __table_args__ = (
        allow_values("default_role", ROLES),
        CheckConstraint("singleton", name="singleton"),
        CheckConstraint("session_hours BETWEEN 1 AND 168", name="session_hours"),
        CheckConstraint("(ciphertext IS NULL) = (key_version IS NULL)", name="secret"),
    )

    id: Mapped[Id]
    singleton: Mapped[bool] = mapped_column(default=True, unique=True)
    name: Mapped[str]
    issuer: Mapped[str]
    client_id: Mapped[str]
    scopes: Mapped[JsonList] = mapped_column(default=list)
    groups_claim: Mapped[str] = mapped_column(default="groups")
    name_claim: Mapped[str] = mapped_column(default="preferred_username")
    roles: Mapped[JsonList] = mapped_column(default=list)
    default_role: Mapped[str | None]
    session_hours: Mapped[int] = mapped_column(default=12)
    enabled: Mapped[bool] = mapped_column(default=True)
    ciphertext: Mapped[bytes | None]
    nonce: Mapped[bytes | None]
    wrapped_key: Mapped[bytes | None]
    key_version: Mapped[int | None]
    version: Mapped[int] = mapped_column(default=1)
    created_at: Mapped[CreatedAt]
    updated_at: Mapped[datetime]
