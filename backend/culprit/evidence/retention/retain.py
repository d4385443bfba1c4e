"""Delete one batch of data that is older than its policy allows.

Rows are marked or deleted first and bytes later. After a crash between the two there are bytes without rows, which the
consistency check finds and deletes; rows without bytes would look like a damaged disk. Marked rows state at once that
their bytes were deleted. The bytes stay one day in `blob_deletion` and are checked again before they are deleted.

A batch continues after the last row that it processed, through an index of the remaining rows, so that its cost
depends on its own size only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import and_, delete, exists, or_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.evidence.retention.citation_queries import find_cited_runs
from culprit.evidence.retention.deletion_queries import (
    find_last_measurement,
    is_needed,
    list_ids,
    list_runs,
    list_uncited_rows,
    list_upload_digests,
    lock_pending_blobs,
    lock_rows,
)
from culprit.evidence.retention.sources import STORAGE_KINDS
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.advisory_locks import try_lock_transaction
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.function_disassembly import FunctionDisassembly
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.system.blob_deletion import BlobDeletion
from culprit.infra.models.system.removal import Removal
from culprit.infra.models.system.retention_policy import RetentionPolicy

#: Bytes without rows are deleted after this time, so that a running backup can end and a mistake can be noticed.
ORPHAN_GRACE = timedelta(days=1)
#: A file newer than this can belong to a row that is not committed yet.
MIN_FILE_AGE = timedelta(hours=1)
PASS_INTERVAL = timedelta(days=1)
BLOBS_PER_BATCH = 200
#: Copying the store holds this lock shared; deleting from the store holds it exclusively.
STORE_LOCK = 0x53544F52
_FILES = ("recordings", "texts", "imports", "profiles")


@dataclass(slots=True)
class DeletionBatch:
    """The result of one batch: `seen` rows were checked, `cited` of them kept because their run is cited."""

    seen: int = 0
    cited: int = 0
    items: int = 0
    bytes: int = 0
    more: bool = False
    by_run: dict[UUID, list[int]] = field(default_factory=dict)


def build_floor_id(at: datetime) -> UUID:
    """Return the smallest UUIDv7 that can be created at this time or later."""
    return UUID(int=max(0, int(at.timestamp() * 1000)) << 80)


def compute_cutoff(
    session: Session, kind: str, days: int | None, max_bytes: int | None, now: datetime
) -> datetime:
    """Return the time before which data of a kind can be deleted: the later one of both limits.

    The limit `max_bytes` is applied in whole days, with the bytes per day from the last storage measurement.
    """
    limits = [now - timedelta(days=days)] if days is not None else []
    if max_bytes is not None:
        measured = find_last_measurement(session)
        total = 0
        for day, size in sorted(measured.get("days", {}).get(kind, {}).items(), reverse=True):
            total += size
            if total > max_bytes:
                limits.append(datetime.fromisoformat(f"{day}T00:00:00+00:00") + timedelta(days=1))
                break
    return max(limits, default=datetime.fromtimestamp(0, now.tzinfo))


def remove_batch(session: Session, policy: RetentionPolicy, now: datetime) -> DeletionBatch:
    """Delete the next rows of a kind that are not cited. The caller holds a lock on the policy row."""
    source = STORAGE_KINDS[policy.kind]
    before = build_floor_id(compute_cutoff(session, policy.kind, policy.days, policy.max_bytes, now))
    ids = list_ids(session, source, policy.cursor, before)
    done = DeletionBatch(seen=len(ids), more=len(ids) == source.batch)
    if ids:
        _remove_rows(session, policy.kind, ids, done, now)
    policy.cursor = ids[-1] if done.more else None
    policy.due_at = now if done.more else now + PASS_INTERVAL
    if not done.more:
        policy.ended_at = now
    if done.items:
        audit.record_action(
            session, None, "retention.delete", "retention_policy", policy.kind,
            items=done.items, bytes=done.bytes, runs=len(done.by_run), cited=done.cited, until=str(ids[-1]),
        )  # fmt: skip
    return done


def _remove_rows(
    session: Session, kind: str, ids: Iterable[UUID], done: DeletionBatch, now: datetime
) -> None:
    source = STORAGE_KINDS[kind]
    rows = lock_rows(session, source, ids)
    free = list_uncited_rows(session, source, rows)
    done.cited = len(rows) - len(free)
    gone = [row.id for row in free]
    if not gone:
        return
    if source.keys:
        model: Any = source.model
        session.execute(update(model).where(source.id.in_(gone)).values(removed_at=now))
        if model is Profile:
            session.execute(delete(FunctionDisassembly).where(FunctionDisassembly.profile_id.in_(gone)))
        keys = {key for row in free for key in row[3:] if key is not None}
        _mark_for_deletion(session, keys | list_upload_digests(session, kind, free), now)
    else:
        gone_now = delete(source.model).where(source.id.in_(gone))
        session.execute(gone_now.execution_options(synchronize_session=False))
    for row in free:
        done.items += 1
        done.bytes += row.size
        if row.run_id is not None:
            counted = done.by_run.setdefault(row.run_id, [0, 0])
            counted[0] += 1
            counted[1] += row.size
    _record_removals(session, kind, done, now)


def _mark_for_deletion(session: Session, keys: Iterable[str], now: datetime) -> None:
    rows = [{"sha256": key, "at": now} for key in sorted(keys)]
    if rows:
        session.execute(insert(BlobDeletion).values(rows).on_conflict_do_nothing())


def _record_removals(session: Session, kind: str, done: DeletionBatch, now: datetime) -> None:
    rows = [
        {"run_id": run_id, "kind": kind, "items": items, "bytes": size, "at": now}
        for run_id, (items, size) in done.by_run.items()
    ]
    if not rows:
        return
    new = insert(Removal).values(rows)
    session.execute(
        new.on_conflict_do_update(
            index_elements=[Removal.run_id, Removal.kind],
            set_={
                "items": Removal.items + new.excluded["items"],
                "bytes": Removal.bytes + new.excluded.bytes,
                "at": new.excluded.at,
            },
        )
    )


def delete_pending_blobs(session: Session, store: ArtifactStore, now: datetime) -> tuple[int, int]:
    """Delete blobs that were marked at least one day ago. Return the numbers of deleted and of kept blobs.

    A blob is kept while an unmarked row references it. Rows of runs that were cited since are unmarked first.
    Nothing is deleted while a backup copies the store.
    """
    if not try_lock_transaction(session, STORE_LOCK):
        return 0, 0
    deleted = lock_pending_blobs(session, now - ORPHAN_GRACE, BLOBS_PER_BATCH)
    gone = stored = 0
    for blob in deleted:
        _unmark_cited(session, blob.sha256)
        if is_needed(session, blob.sha256):
            stored += 1
        elif store.delete_settled(blob.sha256, now - MIN_FILE_AGE):
            gone += 1
        else:  # it was stored again just now, and its row may not be committed yet
            stored += 1
            blob.at = now
            continue
        session.delete(blob)
    return gone, stored


def _unmark_cited(session: Session, sha256: str) -> None:
    """Unmark rows of runs that were cited after they had been marked: their bytes are still stored."""
    of_artifacts = and_(Artifact.sha256 == sha256, Artifact.removed_at.is_not(None))
    of_profiles = and_(
        or_(Profile.store_key == sha256, Profile.tree_key == sha256), Profile.removed_at.is_not(None)
    )
    cited = find_cited_runs(session, list_runs(session, of_artifacts, of_profiles))
    if not cited:
        return
    for model, which in ((Artifact, of_artifacts), (Profile, of_profiles)):
        session.execute(update(model).where(which, model.run_id.in_(cited)).values(removed_at=None))
    reported = delete(Removal).where(Removal.run_id.in_(cited), Removal.kind.in_(_FILES))
    session.execute(reported.where(~_has_removed_rows()).execution_options(synchronize_session=False))


def _has_removed_rows() -> Any:
    """Return the condition that an artifact or profile of the run is still marked."""
    return or_(
        exists().where(Artifact.run_id == Removal.run_id, Artifact.removed_at.is_not(None)),
        exists().where(Profile.run_id == Removal.run_id, Profile.removed_at.is_not(None)),
    )
