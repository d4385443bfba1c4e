"""The network allow-list: networks and ports of hosts that can be added."""

from __future__ import annotations

import ipaddress
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.hosts.schemas import NetworkRuleCreate
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.web.errors import InvalidRequestError, NotFoundError


def create_network_rule(session: Session, actor: Actor, body: NetworkRuleCreate) -> NetworkRule:
    """Create a rule. Raises InvalidRequestError if it is not a network."""
    authorize(actor, "network.manage")
    try:
        network = ipaddress.ip_network(body.cidr.strip(), strict=True)
    except ValueError:
        raise InvalidRequestError("network.unreadable", cidr=body.cidr[:60]) from None
    rule = NetworkRule(
        cidr=str(network),
        port_from=body.port_from,
        port_to=body.port_to,
        note=body.note,
        created_by=actor.id,
    )
    session.add(rule)
    session.flush()
    audit.record_action(
        session, actor, "network.allowed", "network_rule", rule.id,
        cidr=rule.cidr, port_from=rule.port_from, port_to=rule.port_to,
    )  # fmt: skip
    return rule


def delete_network_rule(session: Session, actor: Actor, rule_id: UUID) -> None:
    """Delete a rule. Hosts that only it allowed are kept, but not contacted."""
    authorize(actor, "network.manage")
    rule = session.get(NetworkRule, rule_id)
    if rule is None:
        raise NotFoundError("network.not_found")
    session.delete(rule)
    audit.record_action(session, actor, "network.disallowed", "network_rule", rule.id, cidr=str(rule.cidr))
