"""Where nothing may start now. Asked of PostgreSQL when a capture is made and at the last moment before its host is
dialled and before its command is sent, so that no process remembers an answer that is older than that.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy import Text, and_, exists, or_, select
from sqlalchemy.orm import Session

from culprit.kit.errors import Conflict
from culprit.models import Host, KillSwitch

#: As many hops as a way to a host may have (`culprit.hosts.access.MAX_HOPS`); longer ones are refused there.
MAX_WAY = 5


def holding(session: Session, hosts: Iterable[Host]) -> KillSwitch | None:
    """The switch that holds one of these hosts, or a jump host on the way to one; None where they may start."""
    ids = {one.id for host in hosts for one in _way(session, host)}
    labelled = exists().where(
        Host.id.in_(ids),
        Host.labels.op("->>", return_type=Text())(KillSwitch.label_name) == KillSwitch.label_value,
    )
    query = select(KillSwitch).where(
        KillSwitch.lifted_at.is_(None),
        or_(
            KillSwitch.kind == "everywhere",
            KillSwitch.host_id.in_(ids),
            and_(KillSwitch.kind == "label", labelled),
        ),
    )
    return session.scalars(query.order_by(KillSwitch.created_at).limit(1)).first()


def _way(session: Session, host: Host) -> list[Host]:
    way, at = [host], host
    while at.jump_host_id is not None and len(way) < MAX_WAY:
        jump = session.get(Host, at.jump_host_id)
        if jump is None:
            break
        way.append(jump)
        at = jump
    return way


def permit_start(session: Session, hosts: Iterable[Host]) -> None:
    """Raises Conflict where a switch is pulled for one of these hosts."""
    switch = holding(session, hosts)
    if switch is not None:
        key, params = said(session, switch)
        raise Conflict(key, errors=(), **params)


def said(session: Session, switch: KillSwitch) -> tuple[str, dict[str, str | int | float]]:
    """The sentence that says what holds: its key and parameters."""
    reason = switch.reason or "-"
    if switch.kind == "label":
        label = f"{switch.label_name}={switch.label_value}"
        return "kill_switch.label", {"label": label, "reason": reason}
    if switch.kind == "host":
        return "kill_switch.host", {"host": _name(session, switch.host_id), "reason": reason}
    return "kill_switch.everywhere", {"reason": reason}


def _name(session: Session, host_id: UUID | None) -> str:
    host = session.get(Host, host_id) if host_id else None
    return host.name if host else "-"
