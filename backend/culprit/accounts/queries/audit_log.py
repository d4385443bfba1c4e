"""SELECTs of the audit log."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from culprit.infra.models.accounts.audit_entry import AuditEntry


def select_entries() -> Select[AuditEntry]:
    """Return the SELECT of all entries."""
    return select(AuditEntry)


def find_newest_hash(session: Session) -> bytes | None:
    """Return the hash of the newest entry, or None if there is none."""
    return session.scalar(select(AuditEntry.hash).order_by(AuditEntry.seq.desc()).limit(1))


def list_entries_after(session: Session, seq: int, limit: int) -> Sequence[AuditEntry]:
    """Return up to `limit` entries after a sequence number, oldest first."""
    query = select(AuditEntry).where(AuditEntry.seq > seq).order_by(AuditEntry.seq).limit(limit)
    return session.scalars(query).all()
