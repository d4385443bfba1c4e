"""Who is sending something to an upload address at this moment, and what becomes of that when its receiver dies.

A claim is a lease: the bytes that come renew it. A receiver that vanished with its machine loses it when it runs out.
One whose process died leaves its file behind, which is named after the claim and which nobody holds any more: that is
seen at the next start of a web process or within seconds by a worker, and the address is open again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import actor_by_id
from culprit.auth.tokens import token_hash
from culprit.imports.schemas import UploadState
from culprit.infra import held
from culprit.infra.bounded import WORKSPACE
from culprit.infra.db import Database
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, CulpritError, NotFound
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import UploadAddress

MOST_ATTEMPTS = 10
#: An upload takes no longer; one of which no byte comes for so long is cut off.
RECEIVE_S = 900
QUIET_S = 120
#: A claim lasts from one renewal past the longest silence, and past the check of what has come.
LEASE_S = 180
RENEW_EVERY_S = 30
SPOOL = "upload-"
LOST: dict[str, Any] = {"key": "upload.receiver_lost", "params": {}}
SWEPT_AT_ONCE = 100
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Claim:
    """An upload that has begun: what the address allows, and since when it is ours."""

    id: UUID
    at: datetime
    max_bytes: int

    @property
    def file_name(self) -> str:
        """Of what has come so far."""
        return f"{SPOOL}{self.id}.{self.at.astimezone(UTC):%Y%m%dT%H%M%S.%f}"

    def check(self, row: UploadAddress) -> None:
        """Raises Conflict where the address does not wait for us any more."""
        if row.used_at is not None:
            raise Conflict("upload.used")
        if row.revoked_at is not None:
            raise Conflict("upload.revoked")
        if row.claimed_at != self.at:
            raise Conflict("upload.late")


def state_of(row: UploadAddress, at: datetime) -> UploadState:
    """What an address would say at a moment."""
    if row.used_at is not None:
        return "used"
    if row.revoked_at is not None:
        return "revoked"
    if row.claimed_until is not None and at < row.claimed_until:
        return "receiving"
    if at >= row.expires_at:
        return "expired"
    return "spent" if row.attempts >= MOST_ATTEMPTS else "open"


def opened(session: Session, token: str, *, lock: bool = True) -> UploadAddress:
    """The address that takes something now. Raises NotFound, Conflict."""
    query = select(UploadAddress).where(UploadAddress.token_hash == token_hash(token))
    row = session.scalars(query.with_for_update() if lock else query).first()
    if row is None:
        raise NotFound("upload.not_found")
    state = state_of(row, now())
    if state != "open":
        raise Conflict(f"upload.{state}")
    return row


def claim(session: Session, token: str) -> Claim:
    """Begin an upload; nobody else can until it ends. Raises NotFound, Conflict."""
    row = opened(session, token)
    row.claimed_at = now()
    row.claimed_until = row.claimed_at + timedelta(seconds=LEASE_S)
    row.attempts += 1
    session.flush()
    return Claim(row.id, row.claimed_at, row.max_bytes)


def renew(session: Session, ours: Claim) -> None:
    """It is still being received. Raises Conflict where the address does not wait for us any more."""
    row = session.get_one(UploadAddress, ours.id, with_for_update=True)
    ours.check(row)
    row.claimed_until = now() + timedelta(seconds=LEASE_S)


def give_back(session: Session, ours: Claim, error: CulpritError, peer: str) -> None:
    """What came was not taken: the address is free for another try, and says why."""
    row = session.get(UploadAddress, ours.id, with_for_update=True)
    if row is not None and row.used_at is None and row.claimed_at == ours.at:
        _free(session, row, {"key": error.key, "params": dict(error.params)}, address=peer)


def free_lapsed(session: Session) -> int:
    """Addresses whose receivers were not heard of for a whole lease take another try."""
    lapsed = (
        select(UploadAddress)
        .where(UploadAddress.claimed_until < now(), UploadAddress.used_at.is_(None))
        .limit(SWEPT_AT_ONCE)
        .with_for_update(skip_locked=True)
    )
    rows = session.scalars(lapsed).all()
    for row in rows:
        _free(session, row, LOST)
    return len(rows)


def sweep(db: Database, work: Path) -> int:
    """Removes what processes of this machine left in `work` when they died, and frees the addresses they received for.

    Raises DBAPIError while the database is away; what it has to know of stays until then.
    """

    def free(path: Path) -> None:
        try:
            upload_id = UUID(path.name.removeprefix(SPOOL).partition(".")[0])
        except ValueError:
            return
        with unit_of_work(db.sessions) as session:
            row = session.get(UploadAddress, upload_id, with_for_update=True)
            if row is not None and row.claimed_at is not None:
                ours = Claim(row.id, row.claimed_at, row.max_bytes)
                if ours.file_name == path.name:
                    _free(session, row, LOST)

    gone = held.remove_abandoned(work, SPOOL, free)
    return len(gone + held.remove_abandoned(work, WORKSPACE))


def _free(session: Session, row: UploadAddress, why: Json, **detail: str) -> None:
    row.claimed_at, row.claimed_until, row.failure = None, None, why
    maker = actor_by_id(session, row.created_by)
    audit.record(session, maker, "upload.refused", "upload", row.id, why=why["key"], **detail)
