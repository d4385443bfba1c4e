"""Peer groups: hosts of the same service, otherwise those with the same role labels.

An unattended start uses only a share of a group at a time, so that it never slows down a whole service.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from collectors.contract import Tier
from culprit.domain.alerts.places import MAX_BY_TIER, compute_capture_limit
from culprit.hosts.peer_queries import (
    count_affected_hosts,
    count_group_hosts,
    list_hosts_with_unattended_runs,
    peers_condition,
)
from culprit.infra.models.hosts.host import Host


def can_capture_unattended(session: Session, host: Host, tier: Tier) -> bool:
    """Return whether one more host of its group may be captured unattended at that tier."""
    group = peers_condition(session, host)
    size = count_group_hosts(session, group) or 1
    return len(list_hosts_with_unattended_runs(session, group, tier) - {host.id}) < compute_capture_limit(
        tier, size
    )


def count_free_peer_slots(session: Session, host: Host) -> int:
    """Return how many healthy peers may be captured together with a host of the group."""
    return max(0, MAX_BY_TIER["light"] - 1 - count_affected_hosts(session, peers_condition(session, host)))
