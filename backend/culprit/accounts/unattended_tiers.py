"""Tiers that may run unattended: light, and standard if an admin allows it for a label.

Deep and ptrace never run unattended. Checked when a capture is created, when a diagnosis advances, and again
before a host is contacted.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy.orm import Session

from collectors.contract import Tier
from culprit.accounts.queries.restrictions import is_standard_tier_allowed
from culprit.infra.models.hosts.host import Host
from culprit.web.errors import ForbiddenError

#: Sources of captures and diagnoses that start unattended.
UNATTENDED_SOURCES = frozenset({"trigger", "watcher"})


def get_allowed_tiers(session: Session, host: Host, source: str) -> frozenset[Tier]:
    """Return the tiers that a source may use on a host."""
    if source not in UNATTENDED_SOURCES:
        return frozenset(Tier)
    return (
        frozenset({Tier.LIGHT, Tier.STANDARD})
        if is_standard_tier_allowed(session, host)
        else frozenset({Tier.LIGHT})
    )


def require_tier_allowed(session: Session, tier: Tier, hosts: Iterable[Host], source: str) -> None:
    """Raise ForbiddenError if the capture is unattended and its tier is too high for one of the hosts."""
    if source not in UNATTENDED_SOURCES:
        return
    for host in hosts:
        if tier not in get_allowed_tiers(session, host, source):
            raise ForbiddenError("capture.tier_not_automatic", tier=str(tier), host=host.name)
