"""Select accounts, hosts, rules and heartbeats for the processes of the server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, func, select
from sqlalchemy.orm import Session

from culprit.infra.models.accounts.api_token import ApiToken
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.system.process_heartbeat import ProcessHeartbeat


def find_user(session: Session, name: str) -> UserAccount | None:
    """Return an account by name, or None."""
    return session.scalars(select(UserAccount).where(UserAccount.name == name)).first()


def lock_user(session: Session, name: str) -> UserAccount | None:
    """Return an account by name, locked, or None."""
    return session.scalars(select(UserAccount).where(UserAccount.name == name).with_for_update()).first()


def list_active_tokens(session: Session, user_id: UUID, name: str) -> Sequence[ApiToken]:
    """Return the tokens of a user with this name that are not revoked."""
    own = select(ApiToken).where(ApiToken.user_id == user_id, ApiToken.name == name)
    return session.scalars(own.where(ApiToken.revoked_at.is_(None))).all()


def list_active_host_names(session: Session) -> set[str]:
    """Return the names of the active hosts."""
    return set(session.scalars(select(Host.name).where(Host.state == "active")))


def find_network_rule(session: Session, note: str) -> NetworkRule | None:
    """Return the rule of the allow-list with this note, or None."""
    return session.scalars(select(NetworkRule).where(NetworkRule.note == note)).first()


def find_first_admin(session: Session) -> UserAccount | None:
    """Return the oldest admin, or None."""
    query = select(UserAccount).where(UserAccount.role == "admin").order_by(UserAccount.id)
    return session.scalars(query).first()


def find_newest_incident(session: Session) -> Incident | None:
    """Return the newest incident, or None."""
    return session.scalars(select(Incident).order_by(Incident.number.desc())).first()


def load_heartbeats(connection: Connection, since: datetime) -> dict[str, Any]:
    """Return the details of the processes with a heartbeat after `since`, by name."""
    query = select(ProcessHeartbeat.name, ProcessHeartbeat.detail).where(ProcessHeartbeat.seen_at > since)
    return {str(name): dict(detail) for name, detail in connection.execute(query)}


def count_runs(connection: Connection) -> Iterable[tuple[str, int]]:
    """Return the number of runs of each state."""
    rows = connection.execute(select(Run.state, func.count()).group_by(Run.state))
    return [(str(state), int(count)) for state, count in rows]


def count_processes(connection: Connection, since: datetime) -> Iterable[tuple[str, int]]:
    """Return the number of processes of each kind with a heartbeat after `since`."""
    kind = func.split_part(ProcessHeartbeat.name, "@", 1)
    query = select(kind, func.count()).where(ProcessHeartbeat.seen_at > since).group_by(kind)
    return [(str(name), int(count)) for name, count in connection.execute(query)]
