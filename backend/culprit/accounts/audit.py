"""The audit log: append-only; each entry is hashed together with the hash of the previous one.

A changed, removed or moved entry breaks the chain, and `verify_chain` finds it. Removal of the last entries
is visible only by comparison with a head that was stored elsewhere; every response of GET /audit contains the
head.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.audit_log import find_newest_hash, list_entries_after
from culprit.infra.db.advisory_locks import lock_transaction
from culprit.infra.db.clock import utc_now
from culprit.infra.models.accounts.audit_entry import AuditEntry

GENESIS = bytes(32)
LOCK = 0x41554454  # one writer at a time: the chain has one end
BATCH = 1000
_GATHERED = "culprit.audit.gathered"


@dataclass(frozen=True, slots=True)
class AuditChainCheck:
    """Result of a verification. `broken_at` is the sequence number of the first entry that does not match."""

    entries: int
    head: str
    broken_at: int | None


def record_action(
    session: Session,
    actor: Actor | None,
    action: str,
    kind: str,
    resource_id: UUID | str,
    /,
    *,
    address: str | None = None,
    **detail: Any,
) -> AuditEntry:
    """Add an entry in the caller's transaction; `actor` None is the platform itself.

    Call it last, or within `batch_entries`: the chain is locked until the end of the transaction. `detail`
    holds JSON values and never a secret.
    """
    json = _to_json(detail)
    if actor is not None and actor.token_id is not None:
        json["token"] = str(actor.token_id)
    entry = AuditEntry(
        at=utc_now(),
        actor_id=actor.id if actor else None,
        actor_name=actor.name if actor else "culprit",
        action=action,
        resource_kind=kind,
        resource_id=str(resource_id),
        detail=json,
        address=address if address is not None else (actor.address if actor else None),
    )
    together: list[AuditEntry] | None = session.info.get(_GATHERED)
    if together is None:
        _append_entry(session, [entry])
    else:
        together.append(entry)
    return entry


@contextmanager
def batch_entries(session: Session) -> Iterator[None]:
    """Add the entries of this block at its end, which shortens the lock on the chain."""
    entries: list[AuditEntry] = []
    session.info[_GATHERED] = entries
    try:
        yield
    finally:
        del session.info[_GATHERED]
    if entries:
        _append_entry(session, entries)


def _append_entry(session: Session, entries: Sequence[AuditEntry]) -> None:
    session.flush()
    lock_transaction(session, LOCK)
    previous = get_head(session)
    for entry in entries:
        entry.prev_hash = previous
        entry.hash = previous = compute_hash(entry)
    session.add_all(entries)
    session.flush()


def get_head(session: Session) -> bytes:
    """Return the hash of the newest entry."""
    return find_newest_hash(session) or GENESIS


def _to_json(detail: Mapping[str, Any]) -> dict[str, Any]:
    """Convert values so that they are read back unchanged: no fractions, no NUL."""
    text = json.dumps(detail, ensure_ascii=True, default=str).replace("\\u0000", "\\ufffd")
    plain: dict[str, Any] = json.loads(text, parse_float=str)
    return plain


def compute_hash(entry: AuditEntry) -> bytes:
    """Return SHA-256 over the previous hash and every column with content."""
    reported: Mapping[str, Any] = {
        "at": entry.at.isoformat(timespec="microseconds"),
        "actor_id": str(entry.actor_id) if entry.actor_id else None,
        "actor_name": entry.actor_name,
        "action": entry.action,
        "resource_kind": entry.resource_kind,
        "resource_id": entry.resource_id,
        "detail": entry.detail,
        "address": entry.address,
    }
    text = json.dumps(reported, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(entry.prev_hash + text.encode()).digest()


def verify_chain(session: Session) -> AuditChainCheck:
    """Verify the complete chain."""
    previous, count, after = GENESIS, 0, 0
    while True:
        rows = list_entries_after(session, after, BATCH)
        for row in rows:
            if row.prev_hash != previous or row.hash != compute_hash(row):
                return AuditChainCheck(count, previous.hex(), row.seq)
            previous, count, after = row.hash, count + 1, row.seq
        session.expunge_all()
        if len(rows) < BATCH:
            return AuditChainCheck(count, previous.hex(), None)
