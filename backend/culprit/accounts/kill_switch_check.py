"""Check for active kill switches in PostgreSQL.

The check runs when a capture is created, before its host is contacted, and before its command is sent, so
that no process uses an outdated answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts.queries.restrictions import find_switch_for_hosts
from culprit.infra.models.automation.kill_switch import KillSwitch
from culprit.infra.models.hosts.host import Host
from culprit.web.errors import ConflictError

#: Maximum number of hops to a host (`culprit.hosts.access.MAX_HOPS`).
MAX_HOPS = 5


def find_active_switch(session: Session, hosts: Iterable[Host]) -> KillSwitch | None:
    """Return the active switch for one of these hosts or for a jump host of them, or None."""
    return find_switch_for_hosts(session, {hop.id for host in hosts for hop in _list_hops(session, host)})


def _list_hops(session: Session, host: Host) -> list[Host]:
    hops, at = [host], host
    while at.jump_host_id is not None and len(hops) < MAX_HOPS:
        jump = session.get(Host, at.jump_host_id)
        if jump is None:
            break
        hops.append(jump)
        at = jump
    return hops


def require_start_allowed(session: Session, hosts: Iterable[Host]) -> None:
    """Raise ConflictError if a kill switch is active for one of these hosts."""
    switch = find_active_switch(session, hosts)
    if switch is not None:
        key, params = describe_switch(session, switch)
        raise ConflictError(key, errors=(), **params)


def describe_switch(session: Session, switch: KillSwitch) -> tuple[str, dict[str, str | int | float]]:
    """Return the message about an active switch: its key and parameters."""
    reason = switch.reason or "-"
    if switch.kind == "label":
        label = f"{switch.label_name}={switch.label_value}"
        return "kill_switch.label", {"label": label, "reason": reason}
    if switch.kind == "host":
        return "kill_switch.host", {"host": _get_host_name(session, switch.host_id), "reason": reason}
    return "kill_switch.everywhere", {"reason": reason}


def _get_host_name(session: Session, host_id: UUID | None) -> str:
    host = session.get(Host, host_id) if host_id else None
    return host.name if host else "-"
