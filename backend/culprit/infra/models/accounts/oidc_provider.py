"""The table of the identity provider with which people may sign in."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, JsonList, one_of
from culprit.models.user_account import ROLES


class OidcProvider(Base):
    """There is one at most, which `singleton` sees to. `issuer` is compared letter by letter with what tokens say.

    `roles` is a list of {"group", "role"}; of several that match the highest counts. Without a match a person gets
    `otherwise`, or is refused where that is null. The client's secret is sealed under the row's own id; a public
    client has none.
    """

    __tablename__ = "oidc_provider"
    __table_args__ = (
        one_of("otherwise", ROLES),
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
    otherwise: Mapped[str | None]
    session_hours: Mapped[int] = mapped_column(default=12)
    enabled: Mapped[bool] = mapped_column(default=True)
    ciphertext: Mapped[bytes | None]
    nonce: Mapped[bytes | None]
    wrapped_key: Mapped[bytes | None]
    key_version: Mapped[int | None]
    version: Mapped[int] = mapped_column(default=1)
    created_at: Mapped[CreatedAt]
    updated_at: Mapped[datetime]
