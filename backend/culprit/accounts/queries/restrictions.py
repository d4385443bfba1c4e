"""SELECTs of what limits every start: network allow-list, kill switches and unattended tiers."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import Text, and_, exists, or_, select
from sqlalchemy.orm import Session

from collectors.contract import Tier
from culprit.infra.models.automation.kill_switch import KillSwitch
from culprit.infra.models.automation.unattended_tier import UnattendedTier
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.network.addresses import AddressRule


def load_network_rules(session: Session) -> tuple[AddressRule, ...]:
    """Return the network allow-list, which limits SSH and HTTP connections. If it is empty, none is allowed."""
    return tuple(
        AddressRule(str(rule.cidr), rule.port_from, rule.port_to)
        for rule in session.scalars(select(NetworkRule))
    )


def find_switch_for_hosts(session: Session, host_ids: Collection[UUID]) -> KillSwitch | None:
    """Return the oldest active kill switch that concerns one of the hosts, or None."""
    labelled = exists().where(
        Host.id.in_(host_ids),
        Host.labels.op("->>", return_type=Text())(KillSwitch.label_name) == KillSwitch.label_value,
    )
    query = select(KillSwitch).where(
        KillSwitch.deactivated_at.is_(None),
        or_(
            KillSwitch.kind == "everywhere",
            KillSwitch.host_id.in_(host_ids),
            and_(KillSwitch.kind == "label", labelled),
        ),
    )
    return session.scalars(query.order_by(KillSwitch.created_at).limit(1)).first()


def is_standard_tier_allowed(session: Session, host: Host) -> bool:
    """Return whether an admin allowed the standard tier unattended for a label of the host."""
    labels = [f"{name}\x1f{value}" for name, value in host.labels.items()]
    named = UnattendedTier.label_name.concat("\x1f").concat(UnattendedTier.label_value)
    query = select(exists().where(named.in_(labels), UnattendedTier.tier == Tier.STANDARD))
    return bool(labels) and bool(session.scalar(query))
