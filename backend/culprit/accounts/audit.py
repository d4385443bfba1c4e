"""The audit log: append only, each entry hashed over itself and the hash of the one before.

Whoever edits, removes or reorders an entry breaks the chain from there on, and `verify` finds it. That the
last entries were cut off shows only against a head that was kept elsewhere; the head is in every answer of
GET /audit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.kit.clock import now
from culprit.models import AuditEntry

GENESIS = bytes(32)
LOCK = 0x41554454  # one writer at a time: the chain has one end
BATCH = 1000
_GATHERED = "culprit.audit.gathered"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`broken_at` is the sequence number of the first entry that does not follow from the one before."""

    entries: int
    head: str
    broken_at: int | None


def record(
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
    """Add an entry within the caller's transaction; `actor` None is the platform itself.

    Call it last, or within `gathered`: the chain is locked from here to the end of the transaction. `detail` holds
    JSON values and never a secret.
    """
    kept = _plain(detail)
    if actor is not None and actor.token_id is not None:
        kept["token"] = str(actor.token_id)
    entry = AuditEntry(
        at=now(),
        actor_id=actor.id if actor else None,
        actor_name=actor.name if actor else "culprit",
        action=action,
        resource_kind=kind,
        resource_id=str(resource_id),
        detail=kept,
        address=address if address is not None else (actor.address if actor else None),
    )
    together: list[AuditEntry] | None = session.info.get(_GATHERED)
    if together is None:
        _append(session, [entry])
    else:
        together.append(entry)
    return entry


@contextmanager
def gathered(session: Session) -> Iterator[None]:
    """Entries of this block are added at its end, so that work on many things locks the chain for a moment only."""
    entries: list[AuditEntry] = []
    session.info[_GATHERED] = entries
    try:
        yield
    finally:
        del session.info[_GATHERED]
    if entries:
        _append(session, entries)


def _append(session: Session, entries: Sequence[AuditEntry]) -> None:
    session.flush()
    session.execute(select(func.pg_advisory_xact_lock(LOCK)))
    previous = head(session)
    for entry in entries:
        entry.prev_hash = previous
        entry.hash = previous = digest(entry)
    session.add_all(entries)
    session.flush()


def head(session: Session) -> bytes:
    """The hash of the newest entry."""
    newest = session.scalar(select(AuditEntry.hash).order_by(AuditEntry.seq.desc()).limit(1))
    return newest or GENESIS


def _plain(detail: Mapping[str, Any]) -> dict[str, Any]:
    """Values that come back from the database as they went in: no fractions, no NUL."""
    text = json.dumps(detail, ensure_ascii=True, default=str).replace("\\u0000", "\\ufffd")
    plain: dict[str, Any] = json.loads(text, parse_float=str)
    return plain


def digest(entry: AuditEntry) -> bytes:
    """SHA-256 over the hash before and every column that tells what was done."""
    told: Mapping[str, Any] = {
        "at": entry.at.isoformat(timespec="microseconds"),
        "actor_id": str(entry.actor_id) if entry.actor_id else None,
        "actor_name": entry.actor_name,
        "action": entry.action,
        "resource_kind": entry.resource_kind,
        "resource_id": entry.resource_id,
        "detail": entry.detail,
        "address": entry.address,
    }
    text = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(entry.prev_hash + text.encode()).digest()


def verify(session: Session) -> Verdict:
    """Walk the whole chain."""
    previous, count, after = GENESIS, 0, 0
    while True:
        query = select(AuditEntry).where(AuditEntry.seq > after).order_by(AuditEntry.seq).limit(BATCH)
        rows = session.scalars(query).all()
        for row in rows:
            if row.prev_hash != previous or row.hash != digest(row):
                return Verdict(count, previous.hex(), row.seq)
            previous, count, after = row.hash, count + 1, row.seq
        session.expunge_all()
        if len(rows) < BATCH:
            return Verdict(count, previous.hex(), None)
