"""The table of triggers: endpoints that receive alerts from other systems."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, JsonList, allow_values
from culprit.json_types import Json

TRIGGER_KINDS = ("alertmanager", "grafana", "pagerduty", "generic")
TRIGGER_PROOFS = ("hmac", "token")


class Trigger(Base):
    """An endpoint for alerts, how its requests are authenticated, and what it does with an alert.

    `proof` is the authentication: an HMAC with a sealed secret, or a token of which only the hash is stored.
    `options` is `culprit.automation.triggers.schemas.TriggerOptions`. Captures start with the current
    permissions of `owner_id`, the user who saved the trigger last. `rejection_reason` is the message for the
    last rejected request.
    """

    __tablename__ = "trigger"
    __table_args__ = (
        allow_values("kind", TRIGGER_KINDS),
        allow_values("proof", TRIGGER_PROOFS),
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
    last_alert_at: Mapped[datetime | None]
    alert_count: Mapped[int] = mapped_column(default=0)
    duplicate_count: Mapped[int] = mapped_column(default=0)
    rejected_at: Mapped[datetime | None]
    rejection_reason: Mapped[Json | None]
