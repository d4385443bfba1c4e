"""Leases of upload addresses that are receiving data, and their release when the receiver dies.

A claim is a lease that incoming bytes renew. A receiver that vanished with its machine loses it when it
expires. A receiver whose process died leaves an unlocked file, named after the claim: the next start of a web
process, or a worker within seconds, finds it and opens the address again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import find_actor
from culprit.accounts.tokens import hash_token
from culprit.captures.imports.schemas import UploadState
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.upload_address import UploadAddress
from culprit.infra.sandbox import temp_files
from culprit.infra.sandbox.process import WORKSPACE
from culprit.json_types import Json
from culprit.web.errors import ConflictError, CulpritError, NotFoundError

MAX_ATTEMPTS = 10
#: Maximum duration of an upload, and of a pause between two bytes.
MAX_RECEIVE_S = 900
MAX_PAUSE_S = 120
#: A lease lasts from one renewal past the longest pause, and past the check of the file.
LEASE_S = 180
RENEW_EVERY_S = 30
SPOOL = "upload-"
LOST: dict[str, Any] = {"key": "upload.receiver_lost", "params": {}}
SWEPT_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class UploadLease:
    """An upload in progress: the address, the time at which it was claimed, and the size limit."""

    id: UUID
    at: datetime
    max_bytes: int

    @property
    def file_name(self) -> str:
        """Name of the file with the received bytes."""
        return f"{SPOOL}{self.id}.{self.at.astimezone(UTC):%Y%m%dT%H%M%S.%f}"

    def check(self, row: UploadAddress) -> None:
        """Raise ConflictError if the address no longer waits for this upload."""
        if row.used_at is not None:
            raise ConflictError("upload.used")
        if row.revoked_at is not None:
            raise ConflictError("upload.revoked")
        if row.claimed_at != self.at:
            raise ConflictError("upload.late")


def get_address_state(row: UploadAddress, at: datetime) -> UploadState:
    """Return the state of an address at a time."""
    if row.used_at is not None:
        return "used"
    if row.revoked_at is not None:
        return "revoked"
    if row.claimed_until is not None and at < row.claimed_until:
        return "receiving"
    if at >= row.expires_at:
        return "expired"
    return "spent" if row.attempts >= MAX_ATTEMPTS else "open"


def find_open_upload(session: Session, token: str, *, lock: bool = True) -> UploadAddress:
    """Return the address that accepts an upload now. Raises NotFoundError, ConflictError."""
    query = select(UploadAddress).where(UploadAddress.token_hash == hash_token(token))
    row = session.scalars(query.with_for_update() if lock else query).first()
    if row is None:
        raise NotFoundError("upload.not_found")
    state = get_address_state(row, utc_now())
    if state != "open":
        raise ConflictError(f"upload.{state}")
    return row


def claim_upload(session: Session, token: str) -> UploadLease:
    """Begin an upload; no other can begin until it ends. Raises NotFoundError, ConflictError."""
    row = find_open_upload(session, token)
    row.claimed_at = utc_now()
    row.claimed_until = row.claimed_at + timedelta(seconds=LEASE_S)
    row.attempts += 1
    session.flush()
    return UploadLease(row.id, row.claimed_at, row.max_bytes)


def renew_lease(session: Session, ours: UploadLease) -> None:
    """Renew the lease. Raises ConflictError if the address no longer waits for this upload."""
    row = session.get_one(UploadAddress, ours.id, with_for_update=True)
    ours.check(row)
    row.claimed_until = utc_now() + timedelta(seconds=LEASE_S)


def release_upload(session: Session, ours: UploadLease, error: CulpritError, peer: str) -> None:
    """Reject the upload: the address accepts another attempt, and stores the reason."""
    row = session.get(UploadAddress, ours.id, with_for_update=True)
    if row is not None and row.used_at is None and row.claimed_at == ours.at:
        _release(session, row, {"key": error.key, "params": dict(error.params)}, address=peer)


def release_expired(session: Session) -> int:
    """Open addresses again whose lease has expired."""
    lapsed = (
        select(UploadAddress)
        .where(UploadAddress.claimed_until < utc_now(), UploadAddress.used_at.is_(None))
        .limit(SWEPT_AT_ONCE)
        .with_for_update(skip_locked=True)
    )
    rows = session.scalars(lapsed).all()
    for row in rows:
        _release(session, row, LOST)
    return len(rows)


def remove_abandoned(db: Database, work: Path) -> int:
    """Delete files that dead processes of this machine left in `work`, and open their addresses again.

    Return the number of deleted files. Raises DBAPIError while the database is unreachable; files of uploads are
    kept in this case.
    """

    def free(path: Path) -> None:
        try:
            upload_id = UUID(path.name.removeprefix(SPOOL).partition(".")[0])
        except ValueError:
            return
        with unit_of_work(db.sessions) as session:
            row = session.get(UploadAddress, upload_id, with_for_update=True)
            if row is not None and row.claimed_at is not None:
                lease = UploadLease(row.id, row.claimed_at, row.max_bytes)
                if lease.file_name == path.name:
                    _release(session, row, LOST)

    removed = temp_files.remove_abandoned(work, SPOOL, free)
    return len(removed + temp_files.remove_abandoned(work, WORKSPACE))


def _release(session: Session, row: UploadAddress, why: Json, **detail: str) -> None:
    row.claimed_at, row.claimed_until, row.failure = None, None, why
    maker = find_actor(session, row.created_by)
    audit.record_action(session, maker, "upload.refused", "upload", row.id, why=why["key"], **detail)
