"""Decisions about storage: how long what is kept, and what is told before and after."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any, get_args
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.infra.artifacts import ArtifactStore, BucketStore
from culprit.infra.broker import announce
from culprit.kit.clock import now
from culprit.kit.errors import Forbidden, NotFound
from culprit.models import RetentionPolicy, StorageLook
from culprit.storage import queries
from culprit.storage.check import delete_orphans
from culprit.storage.references import held
from culprit.storage.retain import OF_DIFFS, cutoff
from culprit.storage.schemas import (
    Checked,
    Disk,
    Forecast,
    Foreseen,
    KeptKind,
    Limits,
    LookAsk,
    LookRead,
    Measured,
    OrphansGone,
    PolicyRead,
    PolicySet,
    StorageRead,
)

KINDS: tuple[KeptKind, ...] = get_args(KeptKind)
RESOURCE = "retention_policy"
#: A forecast looks at so many full days, and needs at least some of them.
FORECAST_DAYS, FORECAST_LEAST = 14, 2
FAR_DAYS = 3650


def _whole(actor: Actor, action: str) -> None:
    """The storage is everybody's: who sees only some hosts does not see all of it."""
    policy(actor, action)
    if not actor.unrestricted:
        raise Forbidden("storage.whole_fleet")


def read(session: Session, store: ArtifactStore, actor: Actor) -> StorageRead:
    """What the storage page shows."""
    _whole(actor, "storage.read")
    measured = queries.last(session, "measure")
    checked = queries.last(session, "check")
    space = store.space()
    shown = Measured(at=measured.ended_at, **measured.result) if measured and measured.result else None
    return StorageRead(
        store="bucket" if isinstance(store, BucketStore) else "directory",
        disk=Disk(total=space.total, free=space.free, low=space.low),
        measured=shown,
        forecast=forecast(shown, space.free, now().date()) if shown else None,
        checked=_checked(checked),
        policies=policies(session),
        waiting=queries.waiting(session),
        looking=queries.looking(session),
    )


def _checked(look: StorageLook | None) -> Checked | None:
    return Checked(at=look.ended_at, **look.result) if look and look.result else None


def forecast(measured: Measured, free: int, today: date) -> Forecast:
    """Growth as the mean of the last full days, less what was deleted on them.

    What came in is told by the day of its run, and holds what is still there of it: a kind that is kept for less than
    two weeks seems to grow slower at the far end, and so it does.
    """
    first = min((day for by_day in measured.days.values() for day in by_day), default=None)
    age = (today - date.fromisoformat(first)).days if first else 0
    days = min(FORECAST_DAYS, age)
    if days < FORECAST_LEAST:
        return Forecast(days=days, grows_per_day=0, removed_per_day=0, full_at=None)
    since, until = (today - timedelta(days=days)).isoformat(), today.isoformat()
    grown = sum(
        size for by_day in measured.days.values() for day, size in by_day.items() if since <= day < until
    )
    gone = sum(size for day, size in measured.removed.items() if since <= day < until)
    grows, removed = grown // days, gone // days
    net = grows - removed
    full_at = None
    if net > 0 and free / net < FAR_DAYS:
        full_at = datetime.now(UTC) + timedelta(days=free / net)
    return Forecast(days=days, grows_per_day=grows, removed_per_day=removed, full_at=full_at)


def policies(session: Session) -> list[PolicyRead]:
    """One for each kind; without a row it is kept for ever."""
    rows = {row.kind: (row, name) for row, name in queries.policies(session)}
    told = []
    for kind in KINDS:
        found = rows.get(kind)
        row, name = found if found is not None else (None, None)
        told.append(
            PolicyRead(
                kind=kind,
                days=row.days if row else None,
                max_bytes=row.max_bytes if row else None,
                running=bool(row and row.cursor),
                ended_at=row.ended_at if row else None,
                updated_by=name,
                updated_at=row.updated_at if row else None,
            )
        )
    return told


def foresee(session: Session, actor: Actor, wanted: PolicySet) -> Foreseen:
    """What these limits would delete if they held now. Nothing is changed."""
    _whole(actor, "storage.manage")
    if wanted.days is None and wanted.max_bytes is None:
        return Foreseen(kind=wanted.kind, before=None, items=0, bytes=0, runs=0, cited_items=0, cited_bytes=0)
    before = cutoff(session, wanted.kind, wanted.days, wanted.max_bytes, now())
    cited = held(session, but=OF_DIFFS if wanted.kind == "comparisons" else ())
    items, size, runs, cited_items, cited_bytes = queries.older(session, wanted.kind, before, list(cited))
    return Foreseen(
        kind=wanted.kind,
        before=before if before.year > 1970 else None,
        items=items,
        bytes=size,
        runs=runs,
        cited_items=cited_items,
        cited_bytes=cited_bytes,
    )


def set_policy(session: Session, actor: Actor, wanted: PolicySet) -> list[PolicyRead]:
    """From now on a kind is kept so long. What is to go goes in batches, beginning at once."""
    _whole(actor, "storage.manage")
    row = queries.policy(session, wanted.kind)
    before: dict[str, Any] = {"days": row.days, "max_bytes": row.max_bytes} if row else {}
    if row is None:
        row = RetentionPolicy(kind=wanted.kind)
        session.add(row)
    row.days, row.max_bytes = wanted.days, wanted.max_bytes
    row.cursor = None
    limited = wanted.days is not None or wanted.max_bytes is not None
    row.due_at = now() if limited else None
    row.updated_by, row.updated_at = actor.id, now()
    session.flush()
    if limited:
        announce(session, "culprit.retain", row.id)
    after = Limits(days=wanted.days, max_bytes=wanted.max_bytes).model_dump()
    audit.record(session, actor, "retention.set", RESOURCE, wanted.kind, before=before, after=after)
    return policies(session)


def ask(session: Session, actor: Actor, wanted: LookAsk) -> LookRead:
    """A look by a worker; the one that waits already, where there is one."""
    _whole(actor, "storage.manage")
    row = queries.open_look(session, wanted.kind)
    if row is None:
        row = StorageLook(kind=wanted.kind, requested_by=actor.id)
        session.add(row)
        session.flush()
        announce(session, "culprit.look_at_storage", row.id)
        audit.record(session, actor, f"storage.{wanted.kind}", "storage", row.id)
    return _look(row)


def look(session: Session, actor: Actor, look_id: UUID) -> LookRead:
    """One look; raises NotFound."""
    _whole(actor, "storage.read")
    row = session.get(StorageLook, look_id)
    if row is None:
        raise NotFound("storage.no_look")
    return _look(row)


def _look(row: StorageLook) -> LookRead:
    told = {name: getattr(row, name) for name in ("id", "kind", "state", "created_at")}
    return LookRead(**told, checked=_checked(row) if row.kind == "check" else None)


def mend(session: Session, store: ArtifactStore, actor: Actor) -> OrphansGone:
    """Deletes bytes that no row names, and that are older than an hour."""
    _whole(actor, "storage.manage")
    count, size = delete_orphans(session, store)
    audit.record(session, actor, "storage.mend", "storage", "orphans", count=count, bytes=size)
    return OrphansGone(count=count, bytes=size)
