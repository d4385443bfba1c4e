"""Destination of a channel: the address with all its secrets, encrypted as one value under the channel's ID."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from culprit.accounts import sealed_columns
from culprit.infra.models.notifications.channel import Channel
from culprit.infra.network.mail import MailServer
from culprit.infra.vault import Vault


@dataclass(frozen=True, slots=True)
class Destination:
    """A URL with a signing secret, or a mail server with sender and recipients. Secrets are not in the repr."""

    url: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    mail: MailServer | None = None
    sender: str = ""
    to: tuple[str, ...] = ()


def seal_destination(row: Channel, lead: Destination, box: Vault) -> None:
    """Encrypt the destination into the row."""
    sealed_columns.seal_secret(row, json.dumps(asdict(lead)), box)


def open_destination(row: Channel, box: Vault) -> Destination:
    """Return the destination of a channel. Raises SecretUnreadableError."""
    stored: dict[str, Any] = json.loads(sealed_columns.open_secret(row, box) or "")
    mail = MailServer(**stored["mail"]) if stored["mail"] else None
    return Destination(stored["url"], stored["secret"], mail, stored["sender"], tuple(stored["to"]))
