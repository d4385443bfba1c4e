"""The table of machines that may be reached."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from culprit.models.base import Base, CreatedAt, Id, Json, one_of
from culprit.models.credential import Credential

SUDO = ("none", "nopasswd", "password")
HOST_STATES = ("active", "imported", "retired")


class Host(Base):
    """A machine: how it is reached, how it is recognised, and what is known of it.

    `host_key` is the public key blob as SSH sends it; `host_key_fingerprint` is OpenSSH's "SHA256:…" of it.
    `labels` maps names to text. `max_silence_s` bounds how long a sick host may stay silent. `allows_ptrace`: an
    admin has allowed tools that stop a process at its system calls. An `imported` host is known only from files
    that somebody brought: it has a timeline, but no address and no credential.
    """

    __tablename__ = "host"
    __table_args__ = (
        one_of("sudo", SUDO),
        one_of("state", HOST_STATES),
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
    pinned_at: Mapped[datetime | None]
    pinned_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
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
