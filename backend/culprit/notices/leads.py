"""Where a channel leads: its address with all secrets in it, sealed as one piece under the channel's own id."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.infra.mail import MailServer
from culprit.infra.secrets import Sealed, Vault
from culprit.models import Channel


@dataclass(frozen=True, slots=True)
class Lead:
    """A URL with the secret that signs, or a mail server with sender and recipients. Its secrets have no repr."""

    url: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    mail: MailServer | None = None
    sender: str = ""
    to: tuple[str, ...] = ()


def seal(row: Channel, lead: Lead, box: Vault) -> None:
    """Puts it into the row."""
    sealed = box.seal(row.id, json.dumps(asdict(lead)).encode())
    row.ciphertext, row.nonce = sealed.ciphertext, sealed.nonce
    row.wrapped_key, row.key_version = sealed.wrapped_key, sealed.key_version


def opened(row: Channel, box: Vault) -> Lead:
    """Takes it out again. Raises SecretUnreadable."""
    kept: dict[str, Any] = json.loads(box.open(row.id, _sealed(row)))
    mail = MailServer(**kept["mail"]) if kept["mail"] else None
    return Lead(kept["url"], kept["secret"], mail, kept["sender"], tuple(kept["to"]))


def rewrap_all(session: Session, box: Vault) -> int:
    """Bring every address under the current key-encryption key; returns how many had another."""
    rows = session.scalars(select(Channel).where(Channel.key_version != box.current).with_for_update()).all()
    for row in rows:
        sealed = box.rewrap(row.id, _sealed(row))
        row.wrapped_key, row.key_version = sealed.wrapped_key, sealed.key_version
    if rows:
        audit.record(session, None, "channel.rewrapped", "channel", "all", count=len(rows), key=box.current)
    return len(rows)


def _sealed(row: Channel) -> Sealed:
    return Sealed(row.ciphertext, row.nonce, row.wrapped_key, row.key_version)
