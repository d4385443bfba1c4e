"""Every SELECT about hosts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Select, and_, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, joinedload

from culprit.auth.actor import Actor
from culprit.auth.policy import visible
from culprit.kit.errors import NotFound
from culprit.models import Host, Preflight, Run


def host_list(
    actor: Actor, *, q: str = "", labels: Sequence[tuple[str, str]] = (), state: str | None = None
) -> Select[Any]:
    """The hosts that the actor may see; `q` is looked for in name and address."""
    query = select(Host).where(visible(actor)).options(joinedload(Host.jump_host))
    if q:
        pattern = "%" + q.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        query = query.where(or_(func.lower(Host.name).like(pattern), func.lower(Host.address).like(pattern)))
    if labels:
        query = query.where(and_(*(Host.labels[name].astext == value for name, value in labels)))
    return query.where(Host.state == state if state else Host.state != "retired")


def host(session: Session, actor: Actor, host_id: UUID, *, lock: bool = False) -> Host:
    """One visible host. Raises NotFound."""
    query = select(Host).where(Host.id == host_id, visible(actor))
    found = session.scalars(query.with_for_update(of=Host, key_share=True) if lock else query).first()
    if found is None:
        raise NotFound("host.not_found")
    return found


def last_runs(session: Session, ids: Iterable[UUID]) -> dict[UUID, Run]:
    """The newest run of each host."""
    query = select(Run).where(Run.host_id.in_(list(ids))).ext(distinct_on(Run.host_id))
    query = query.order_by(Run.host_id, Run.id.desc())
    return {run.host_id: run for run in session.scalars(query) if run.host_id}


def capture_counts(session: Session, ids: Iterable[UUID]) -> dict[UUID, int]:
    """How many captures each host was part of."""
    count = func.count(Run.capture_id.distinct())
    query = select(Run.host_id, count).where(Run.host_id.in_(list(ids))).group_by(Run.host_id)
    return {row[0]: row[1] for row in session.execute(query) if row[0]}


def active_names(session: Session) -> set[str]:
    """The names that are taken, whoever may see them."""
    return set(session.scalars(select(Host.name).where(Host.state == "active")))


def active_by_name(session: Session, actor: Actor, names: Iterable[str]) -> dict[str, Host]:
    """The visible active hosts with one of these names."""
    query = select(Host).where(Host.name.in_(list(names)), Host.state == "active", visible(actor))
    return {host.name: host for host in session.scalars(query)}


def active_places(session: Session) -> set[tuple[str, int]]:
    """Address and port of every active host."""
    return {
        (row[0], row[1])
        for row in session.execute(select(Host.address, Host.port).where(Host.state == "active"))
    }


def latest_preflight(session: Session, host_id: UUID) -> Preflight | None:
    """The newest look at a host."""
    query = select(Preflight).where(Preflight.host_id == host_id).order_by(Preflight.id.desc()).limit(1)
    return session.scalars(query).first()
