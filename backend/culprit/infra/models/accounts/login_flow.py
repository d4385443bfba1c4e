"""Table of sign-ins in progress at an identity provider."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, Id


class LoginFlow(Base):
    """One redirect to the provider and back.

    Only hashes of the state and of the browser's cookie are stored. Nonce and PKCE verifier are derived from
    that cookie.
    """

    __tablename__ = "login_flow"

    id: Mapped[Id]
    provider_id: Mapped[UUID] = mapped_column(ForeignKey("oidc_provider.id", ondelete="CASCADE"), index=True)
    provider_version: Mapped[int]
    state_hash: Mapped[bytes] = mapped_column(unique=True)
    browser_hash: Mapped[bytes]
    next: Mapped[str]
    attempt_id: Mapped[UUID]
    #: The session that this sign-in proves again; None if it opens a session.
    session_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("login_session.id", ondelete="CASCADE"), index=True
    )
    expires_at: Mapped[datetime] = mapped_column(index=True)
