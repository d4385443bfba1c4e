"""The way into a host: its hops with opened secrets, and the addresses that may be dialled.

Secrets are opened here, at the last moment, and only travel in objects without a repr.
"""

from __future__ import annotations

import json
from typing import cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth import sealed
from culprit.infra.addresses import Rule
from culprit.infra.secrets import Vault, vault
from culprit.infra.ssh import Hop
from culprit.infra.ssh_keys import Login, LoginKind, PublicKey
from culprit.kit.errors import Conflict
from culprit.models import Credential, Host, NetworkRule

MAX_HOPS = 5


def rules(session: Session) -> tuple[Rule, ...]:
    """The allow-list. Empty means that nothing may be dialled."""
    return tuple(
        Rule(str(rule.cidr), rule.port_from, rule.port_to) for rule in session.scalars(select(NetworkRule))
    )


def hops_to(session: Session, host: Host, box: Vault | None = None) -> tuple[Hop, ...]:
    """Every SSH server on the way to `host`, itself last.

    Raises Conflict for a chain that leads over a retired host or is too long, SecretUnreadable where a
    credential does not open.
    """
    box = box or vault()
    chain: list[Host] = []
    at: Host | None = host
    while at is not None:
        if len(chain) == MAX_HOPS:
            raise Conflict("host.too_many_jumps", host=host.name, limit=MAX_HOPS - 1)
        if at.state != "active":
            raise Conflict("host.not_active", host=at.name)
        chain.append(at)
        at = session.get(Host, at.jump_host_id) if at.jump_host_id else None
    return tuple(hop_of(one, box) for one in reversed(chain))


def hop_of(host: Host, box: Vault) -> Hop:
    """One host as a hop. Raises SecretUnreadable."""
    assert host.credential is not None, "an active host has a credential"
    pinned = PublicKey(host.host_key_type, host.host_key) if host.host_key and host.host_key_type else None
    return Hop(host.name, host.address, host.port, login_of(host.credential, host.username, box), pinned)


def login_of(credential: Credential, username: str, box: Vault) -> Login:
    """A credential as what is offered to a host."""
    kind = cast(LoginKind, credential.kind)
    if kind == "agent":
        return Login(kind, username, key_fingerprint=str(credential.public.get("fingerprint") or ""))
    opened = open_secret(credential, box)
    return Login(kind, username, secret=opened["secret"], certificate=opened.get("certificate", ""))


def sudo_password(host: Host, box: Vault | None = None) -> str | None:
    """The password for sudo on that host; None where none is asked for."""
    if host.sudo != "password" or host.sudo_credential is None:
        return None
    return open_secret(host.sudo_credential, box or vault())["secret"]


def open_secret(credential: Credential, box: Vault) -> dict[str, str]:
    """{"secret": …, "certificate"?: …}; raises SecretUnreadable."""
    kept = sealed.opened(credential, box)
    assert kept is not None
    opened: dict[str, str] = json.loads(kept)
    return opened
