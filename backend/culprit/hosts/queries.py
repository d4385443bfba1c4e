"""SELECTs of hosts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Select, and_, func, or_, select
from sqlalchemy.orm import Session, joinedload

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.models.hosts.preflight import Preflight
from culprit.web.errors import NotFoundError


def select_hosts(
    actor: Actor, *, q: str = "", labels: Sequence[tuple[str, str]] = (), state: str | None = None
) -> Select[Any]:
    """Select the visible hosts; `q` is a part of name or address."""
    query = select(Host).where(visible_hosts_clause(actor)).options(joinedload(Host.jump_host))
    if q:
        pattern = "%" + q.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        query = query.where(or_(func.lower(Host.name).like(pattern), func.lower(Host.address).like(pattern)))
    if labels:
        query = query.where(and_(*(Host.labels[name].astext == value for name, value in labels)))
    return query.where(Host.state == state if state else Host.state != "retired")


def get_host(session: Session, actor: Actor, host_id: UUID, *, lock: bool = False) -> Host:
    """Return a visible host. Raises NotFoundError."""
    query = select(Host).where(Host.id == host_id, visible_hosts_clause(actor))
    row = session.scalars(query.with_for_update(of=Host, key_share=True) if lock else query).first()
    if row is None:
        raise NotFoundError("host.not_found")
    return row


def list_last_runs(session: Session, ids: Iterable[UUID]) -> dict[UUID, Run]:
    """Return the newest run of each host.

    The last that started and the last that did not are each an entry at the end of a range of the index over (host_id,
    started_at), so the cost does not grow with the runs of a host.
    """
    runs = select(Run.id).where(Run.host_id == Host.id).limit(1)
    started = runs.where(Run.started_at.is_not(None)).order_by(Run.started_at.desc())
    waiting = runs.where(Run.started_at.is_(None)).order_by(Run.id.desc())
    candidates = select(started.scalar_subquery(), waiting.scalar_subquery()).where(Host.id.in_(list(ids)))
    newest = [max(item for item in row if item) for row in session.execute(candidates) if any(row)]
    return {run.host_id: run for run in session.scalars(select(Run).where(Run.id.in_(newest))) if run.host_id}


def count_captures(session: Session, ids: Iterable[UUID]) -> dict[UUID, int]:
    """Return in how many captures each host is: each has one run of a host."""
    query = select(Run.host_id, func.count()).where(Run.host_id.in_(list(ids))).group_by(Run.host_id)
    return {row[0]: row[1] for row in session.execute(query) if row[0]}


def list_active_names(session: Session) -> set[str]:
    """Return the names of all active hosts, whether visible or not."""
    return set(session.scalars(select(Host.name).where(Host.state == "active")))


def map_active_hosts(session: Session, actor: Actor, names: Iterable[str]) -> dict[str, Host]:
    """Return the visible active hosts with these names."""
    query = select(Host).where(
        Host.name.in_(list(names)), Host.state == "active", visible_hosts_clause(actor)
    )
    return {host.name: host for host in session.scalars(query)}


def list_active_addresses(session: Session) -> set[tuple[str, int]]:
    """Return address and port of every active host."""
    return {
        (row[0], row[1])
        for row in session.execute(select(Host.address, Host.port).where(Host.state == "active"))
    }


def find_latest_preflight(session: Session, host_id: UUID) -> Preflight | None:
    """Return the latest preflight check of a host, or None."""
    query = select(Preflight).where(Preflight.host_id == host_id).order_by(Preflight.id.desc()).limit(1)
    return session.scalars(query).first()


def has_active_host(session: Session, name: str) -> bool:
    """Return whether an active host has this name, visible or not."""
    query = select(Host.id).where(Host.name == name, Host.state == "active")
    return session.scalars(query).first() is not None


def find_jumping_host(session: Session, jump_host_id: UUID) -> str | None:
    """Return the name of an active host that is reached over this jump host, or None."""
    query = select(Host.name).where(Host.jump_host_id == jump_host_id, Host.state == "active")
    return session.scalars(query.limit(1)).first()


def select_network_rules() -> Select[NetworkRule]:
    """Select the entries of the network allow-list."""
    return select(NetworkRule)


def select_credentials() -> Select[Credential]:
    """Select all credentials."""
    return select(Credential)


def has_credential(session: Session, name: str) -> bool:
    """Return whether a credential has this name."""
    return session.scalars(select(Credential).where(Credential.name == name)).first() is not None


def list_credential_names(session: Session, prefix: str) -> set[str]:
    """Return the names of the credentials that start with a text."""
    return set(session.scalars(select(Credential.name).where(Credential.name.startswith(prefix))))


def list_credential_hosts(session: Session, credential_id: UUID) -> Sequence[Host]:
    """Return the hosts that use a credential for login or for sudo."""
    uses = or_(Host.credential_id == credential_id, Host.sudo_credential_id == credential_id)
    return session.scalars(select(Host).where(uses)).all()


def count_credential_hosts(session: Session, ids: Sequence[UUID]) -> dict[UUID, int]:
    """Return how many active hosts use each credential."""
    query = select(Host.credential_id, func.count()).where(
        Host.credential_id.in_(ids), Host.state == "active"
    )
    return {row[0]: row[1] for row in session.execute(query.group_by(Host.credential_id)) if row[0]}
