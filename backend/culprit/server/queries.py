"""Select accounts, hosts, rules and heartbeats for the processes of the server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, extract, func, select
from sqlalchemy.orm import Session

from culprit.captures.locks import is_due
from culprit.infra.models.accounts.api_token import ApiToken
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.system.blob_check import BlobCheck
from culprit.infra.models.system.process_heartbeat import ProcessHeartbeat

#: Action of a backup in the audit log.
BACKUP_CREATED = "backup.created"


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


def read_file_checks(connection: Connection) -> tuple[int, float]:
    """Return the number of altered files, and the seconds since the oldest of the last checks of all files."""
    age = extract("epoch", func.clock_timestamp() - func.min(BlobCheck.checked_at))
    altered_files = select(func.count()).where(BlobCheck.altered_at.is_not(None))
    altered, seconds = connection.execute(select(altered_files.scalar_subquery(), age)).one()
    return int(altered), float(seconds or 0)


def find_last_backup(connection: Connection) -> datetime | None:
    """Return the time of the last backup, or None. It reads the audit log, the newest entry first."""
    newest = select(AuditEntry.at).where(AuditEntry.action == BACKUP_CREATED).order_by(AuditEntry.seq.desc())
    at: datetime | None = connection.execute(newest.limit(1)).scalar()
    return at


def read_clock(connection: Connection) -> datetime:
    """Return the time of the database server."""
    at: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return at


def read_oldest_wait(connection: Connection) -> tuple[int, timedelta | None]:
    """Return the number of runs that are due, and how long the oldest has been due."""
    due_at = func.greatest(Run.queued_at, Run.not_before)
    waiting = select(func.count(), func.clock_timestamp() - func.min(due_at)).where(is_due())
    count, age = connection.execute(waiting).one()
    return int(count), age
