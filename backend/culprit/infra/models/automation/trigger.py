"""The table of triggers: endpoints to which other systems send their alerts."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, JsonList, one_of

TRIGGER_KINDS = ("alertmanager", "grafana", "pagerduty", "generic")
TRIGGER_PROOFS = ("hmac", "token")


class Trigger(Base):
    """Who may send alerts here, how they prove it, and what is done about one.

    `proof` is how a request proves that it is from there: an HMAC with a sealed secret, or a token of which only the
    hash is kept. `options` is as `culprit.triggers.schemas.Options`. What a trigger starts is started on behalf of
    `owner_id`, whoever changed it last, with the rights that they have at that moment. `refused_for`
    says why the last request that was turned away was.
    """

    __tablename__ = "trigger"
    __table_args__ = (
        one_of("kind", TRIGGER_KINDS),
        one_of("proof", TRIGGER_PROOFS),
        CheckConstraint(
            "(proof = 'token') = (token_hash IS NOT NULL) AND (proof = 'hmac') = (ciphertext IS NOT NULL)",
            name="secret",
        ),
    )

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    proof: Mapped[str]
    token_hash: Mapped[bytes | None]
    ciphertext: Mapped[bytes | None]
    nonce: Mapped[bytes | None]
    wrapped_key: Mapped[bytes | None]
    key_version: Mapped[int | None]
    enabled: Mapped[bool] = mapped_column(default=True)
    options: Mapped[Json] = mapped_column(default=dict)
    channel_ids: Mapped[JsonList] = mapped_column(default=list)
    owner_id: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    heard_at: Mapped[datetime | None]
    heard: Mapped[int] = mapped_column(default=0)
    repeated: Mapped[int] = mapped_column(default=0)
    refused_at: Mapped[datetime | None]
    refused_for: Mapped[Json | None]
