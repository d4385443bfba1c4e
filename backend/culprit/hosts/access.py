"""The route to a host: its hops with decrypted secrets, and the allowed networks.

Secrets are decrypted here, at the last moment, and passed only in objects without a repr.
"""

from __future__ import annotations

import json
from typing import cast

from sqlalchemy.orm import Session

from culprit.accounts import sealed_columns
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.ssh.connection import SshHop
from culprit.infra.ssh.keys import Login, LoginKind, PublicKey
from culprit.infra.vault import Vault, get_vault
from culprit.web.errors import ConflictError

MAX_HOPS = 5


def build_hops(session: Session, host: Host, box: Vault | None = None) -> tuple[SshHop, ...]:
    """Return every SSH server on the route to `host`, which is the last.

    Raises ConflictError if the chain is too long or contains a retired host, SecretUnreadableError if a
    credential cannot be decrypted.
    """
    box = box or get_vault()
    chain: list[Host] = []
    at: Host | None = host
    while at is not None:
        if len(chain) == MAX_HOPS:
            raise ConflictError("host.too_many_jumps", host=host.name, limit=MAX_HOPS - 1)
        if at.state != "active":
            raise ConflictError("host.not_active", host=at.name)
        chain.append(at)
        at = session.get(Host, at.jump_host_id) if at.jump_host_id else None
    return tuple(build_hop(item, box) for item in reversed(chain))


def build_hop(host: Host, box: Vault) -> SshHop:
    """Return a host as a hop. Raises SecretUnreadableError."""
    assert host.credential is not None, "an active host has a credential"
    pinned = PublicKey(host.host_key_type, host.host_key) if host.host_key and host.host_key_type else None
    return SshHop(
        host.name, host.address, host.port, build_login(host.credential, host.username, box), pinned
    )


def build_login(credential: Credential, username: str, box: Vault) -> Login:
    """Return a credential as SSH login data."""
    kind = cast(LoginKind, credential.kind)
    if kind == "agent":
        return Login(kind, username, key_fingerprint=str(credential.public.get("fingerprint") or ""))
    opened = open_credential(credential, box)
    return Login(kind, username, secret=opened["secret"], certificate=opened.get("certificate", ""))


def get_sudo_password(host: Host, box: Vault | None = None) -> str | None:
    """Return the sudo password of a host, or None if none is required."""
    if host.sudo != "password" or host.sudo_credential is None:
        return None
    return open_credential(host.sudo_credential, box or get_vault())["secret"]


def open_credential(credential: Credential, box: Vault) -> dict[str, str]:
    """Return {"secret": …, "certificate"?: …}. Raises SecretUnreadableError."""
    secret = sealed_columns.open_secret(credential, box)
    assert secret is not None
    opened: dict[str, str] = json.loads(secret)
    return opened
