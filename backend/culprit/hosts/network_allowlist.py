"""The allow-list of networks and ports in which hosts may be enrolled."""

from __future__ import annotations

import ipaddress
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.hosts.schemas import NetworkRuleCreate
from culprit.kit.errors import Invalid, NotFound
from culprit.models import NetworkRule


def create(session: Session, actor: Actor, body: NetworkRuleCreate) -> NetworkRule:
    """A new line of the allow-list. Raises Invalid for what is no network."""
    policy(actor, "network.manage")
    try:
        network = ipaddress.ip_network(body.cidr.strip(), strict=True)
    except ValueError:
        raise Invalid("network.unreadable", cidr=body.cidr[:60]) from None
    rule = NetworkRule(
        cidr=str(network),
        port_from=body.port_from,
        port_to=body.port_to,
        note=body.note,
        created_by=actor.id,
    )
    session.add(rule)
    session.flush()
    audit.record(
        session, actor, "network.allowed", "network_rule", rule.id,
        cidr=rule.cidr, port_from=rule.port_from, port_to=rule.port_to,
    )  # fmt: skip
    return rule


def remove(session: Session, actor: Actor, rule_id: UUID) -> None:
    """Take a line away. Hosts that only it allowed stay enrolled, and are not dialled any more."""
    policy(actor, "network.manage")
    rule = session.get(NetworkRule, rule_id)
    if rule is None:
        raise NotFound("network.not_found")
    session.delete(rule)
    audit.record(session, actor, "network.disallowed", "network_rule", rule.id, cidr=str(rule.cidr))
