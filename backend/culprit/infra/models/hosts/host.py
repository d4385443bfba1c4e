"""Table of hosts."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.infra.models.hosts.credential import Credential
from culprit.json_types import Json

SUDO = ("none", "nopasswd", "password")
HOST_STATES = ("active", "imported", "retired")


class Host(Base):
    """A host: address, identity and facts.

    `host_key` is the public key blob as SSH sends it; `host_key_fingerprint` is OpenSSH's "SHA256:…" of it.
    `labels` maps names to text. `max_silence_s` limits how long a host may send nothing. `allows_ptrace`: an
    admin allowed tools that stop a process at its system calls. An `imported` host is known only from
    imported files: it has a timeline, but no address and no credential.
    """

    __tablename__ = "host"
    __table_args__ = (
        allow_values("sudo", SUDO),
        allow_values("state", HOST_STATES),
        CheckConstraint("port BETWEEN 1 AND 65535", name="port"),
        CheckConstraint("jump_host_id <> id", name="jump_host"),
        CheckConstraint("state <> 'active' OR credential_id IS NOT NULL", name="reachable"),
        Index(None, "labels", postgresql_using="gin"),
        Index("uq_host_name_active", "name", unique=True, postgresql_where=text("state = 'active'")),
    )

    id: Mapped[Id]
    name: Mapped[str]
    address: Mapped[str]
    port: Mapped[int] = mapped_column(default=22)
    username: Mapped[str]
    credential_id: Mapped[UUID | None] = mapped_column(ForeignKey("credential.id"))
    sudo: Mapped[str] = mapped_column(default="none")
    sudo_credential_id: Mapped[UUID | None] = mapped_column(ForeignKey("credential.id"))
    jump_host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id"))
    labels: Mapped[Json] = mapped_column(default=dict)
    state: Mapped[str] = mapped_column(default="active")
    host_key_type: Mapped[str | None]
    host_key: Mapped[bytes | None]
    host_key_fingerprint: Mapped[str | None]
    host_key_trusted_at: Mapped[datetime | None]
    host_key_trusted_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    max_silence_s: Mapped[int] = mapped_column(default=90)
    allows_ptrace: Mapped[bool] = mapped_column(default=False)
    facts: Mapped[Json | None]
    facts_at: Mapped[datetime | None]
    machine_id: Mapped[str | None]
    boot_id: Mapped[str | None]
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]

    credential: Mapped[Credential | None] = relationship(foreign_keys=[credential_id], lazy="joined")
    sudo_credential: Mapped[Credential | None] = relationship(foreign_keys=[sudo_credential_id])
    jump_host: Mapped[Host | None] = relationship(remote_side="Host.id")
