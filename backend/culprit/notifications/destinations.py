"""Where a channel leads: its address with all secrets in it, sealed as one piece under the channel's own id."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from culprit.auth import sealed
from culprit.infra.mail import MailServer
from culprit.infra.secrets import Vault
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
    sealed.seal(row, json.dumps(asdict(lead)), box)


def opened(row: Channel, box: Vault) -> Lead:
    """Takes it out again. Raises SecretUnreadable."""
    kept: dict[str, Any] = json.loads(sealed.opened(row, box) or "")
    mail = MailServer(**kept["mail"]) if kept["mail"] else None
    return Lead(kept["url"], kept["secret"], mail, kept["sender"], tuple(kept["to"]))
