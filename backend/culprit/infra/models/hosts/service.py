"""Table of services."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.json_types import Json

SERVICE_SOURCES = ("none", "prometheus", "access_log", "accepts")


class Service(Base):
    """A service runs on every host that has all labels of `selector`.

    `locate` finds it on a host: {"kind": unit|container|port|cgroup, "value"}. `source` holds the settings of
    its metric source and never a secret; the bearer token of a Prometheus is sealed like a credential, with
    the service's own ID.
    """

    __tablename__ = "service"
    __table_args__ = (
        allow_values("source_kind", SERVICE_SOURCES),
        CheckConstraint(
            "(ciphertext IS NULL) = (key_version IS NULL) AND (ciphertext IS NULL OR source_kind = 'prometheus')",
            name="token",
        ),
    )

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(unique=True)
    selector: Mapped[Json]
    locate: Mapped[Json | None]
    source_kind: Mapped[str] = mapped_column(default="none")
    source: Mapped[Json] = mapped_column(default=dict)
    ciphertext: Mapped[bytes | None]
    nonce: Mapped[bytes | None]
    wrapped_key: Mapped[bytes | None]
    key_version: Mapped[int | None]
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
