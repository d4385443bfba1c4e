"""What may run without a person: the light tier, and standard where an administrator allows it for a label.

Deep and ptrace never do. Asked when a capture is made, when a diagnosis goes on, and again before a host is dialled.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from collectors.contract import Tier
from culprit.kit.errors import Forbidden
from culprit.models import Host, TierAllowance

#: Sources of captures and diagnoses behind which no person stands at that moment.
AUTOMATIC = frozenset({"trigger", "armed"})


def tiers_for(session: Session, host: Host, source: str) -> frozenset[Tier]:
    """The tiers that may run on a host for a source, as far as automation is concerned."""
    if source not in AUTOMATIC:
        return frozenset(Tier)
    return frozenset({Tier.LIGHT, Tier.STANDARD}) if _allows(session, host) else frozenset({Tier.LIGHT})


def _allows(session: Session, host: Host) -> bool:
    labels = [f"{name}\x1f{value}" for name, value in host.labels.items()]
    named = TierAllowance.label_name.concat("\x1f").concat(TierAllowance.label_value)
    query = select(exists().where(named.in_(labels), TierAllowance.tier == Tier.STANDARD))
    return bool(labels) and bool(session.scalar(query))


def permit_automatic(session: Session, tier: Tier, hosts: Iterable[Host], source: str) -> None:
    """Raises Forbidden where nobody stands behind a capture and its tier is too high for one of the hosts."""
    if source not in AUTOMATIC:
        return
    for host in hosts:
        if tier not in tiers_for(session, host, source):
            raise Forbidden("capture.tier_not_automatic", tier=str(tier), host=host.name)
