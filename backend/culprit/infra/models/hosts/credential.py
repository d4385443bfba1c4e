"""Table of credentials."""

from __future__ import annotations

from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.json_types import Json

CREDENTIAL_KINDS = ("key", "generated_key", "certificate", "agent", "password")


class Credential(Base):
    """A secret under AES-256-GCM with its own key, which the key-encryption key `key_version` wraps.

    `public` contains the visible parts: key type, fingerprint, the line for authorized_keys, certificate
    dates. An `agent` has no secret; its `public.socket` names the agent.
    """

    __tablename__ = "credential"
    __table_args__ = (allow_values("kind", CREDENTIAL_KINDS),)

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    username: Mapped[str | None]
    ciphertext: Mapped[bytes | None]
    nonce: Mapped[bytes | None]
    wrapped_key: Mapped[bytes | None]
    key_version: Mapped[int | None]
    public: Mapped[Json] = mapped_column(default=dict)
    created_at: Mapped[CreatedAt]
