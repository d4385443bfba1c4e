"""One batch of deletion.

Rows first, then bytes. The other way round a crash would leave rows that promise bytes which are gone, which is what a
damaged disk looks like; this way it leaves bytes that nobody names, which are found and deleted later. A row that is
marked says at once that it was deleted; its bytes stay a day in `doomed_blob`, and are looked at again before they go.

A batch reads the rows behind the last one that it has looked at, through an index of what is still there: what it
costs depends on its own size, and not on what was ever stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row, and_, delete, exists, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.infra.artifacts import ArtifactStore
from culprit.models import (
    Artifact,
    DoomedBlob,
    Profile,
    ProfileDiff,
    Removal,
    RetentionPolicy,
    Run,
    StorageLook,
)
from culprit.storage.references import Cited, held
from culprit.storage.sources import SOURCES, Source

#: Bytes without rows stay so long before they are deleted: time enough for a backup to end and a mistake to be seen.
GRACE = timedelta(days=1)
#: A file that was written later than this may be of somebody whose row is not committed yet.
SETTLED = timedelta(hours=1)
PASS_EVERY = timedelta(days=1)
BLOBS_AT_ONCE = 200
#: Whoever copies the store holds this lock with others; whoever deletes from it holds it alone.
STORE_LOCK = 0x53544F52
OF_DIFFS = ("profile_diff.a", "profile_diff.b")
_FILES = ("recordings", "texts", "imports", "profiles")


@dataclass(slots=True)
class Batch:
    """What one batch did. `seen` rows were looked at, `cited` of them stayed because somebody cites their run."""

    seen: int = 0
    cited: int = 0
    items: int = 0
    bytes: int = 0
    more: bool = False
    by_run: dict[UUID, list[int]] = field(default_factory=dict)


def floor_id(at: datetime) -> UUID:
    """The smallest id that was made at this moment or later."""
    return UUID(int=max(0, int(at.timestamp() * 1000)) << 80)


def cutoff(session: Session, kind: str, days: int | None, max_bytes: int | None, now: datetime) -> datetime:
    """What is older may go: by age, or because what is newer already fills the kind's share.

    The latter is by whole days, as the last measurement of the storage has counted them.
    """
    limits = [now - timedelta(days=days)] if days is not None else []
    if max_bytes is not None:
        query = select(StorageLook.result).where(StorageLook.kind == "measure", StorageLook.state == "done")
        measured = session.scalar(query.order_by(StorageLook.id.desc()).limit(1)) or {}
        total = 0
        for day, size in sorted(measured.get("days", {}).get(kind, {}).items(), reverse=True):
            total += size
            if total > max_bytes:
                limits.append(datetime.fromisoformat(f"{day}T00:00:00+00:00") + timedelta(days=1))
                break
    return max(limits, default=datetime.fromtimestamp(0, now.tzinfo))


def remove_batch(session: Session, policy: RetentionPolicy, now: datetime) -> Batch:
    """Looks at the next rows of a kind and deletes what nobody cites. The caller holds the policy's row."""
    source = SOURCES[policy.kind]
    before = floor_id(cutoff(session, policy.kind, policy.days, policy.max_bytes, now))
    behind = source.id > policy.cursor if policy.cursor is not None else source.id >= UUID(int=0)
    window = (select(source.id).where(*source.live, behind, source.id < before).order_by(source.id)).limit(
        source.batch
    )
    ids = session.scalars(window).all()
    done = Batch(seen=len(ids), more=len(ids) == source.batch)
    if ids:
        _remove(session, policy.kind, ids, done, now)
    policy.cursor = ids[-1] if done.more else None
    policy.due_at = now if done.more else now + PASS_EVERY
    if not done.more:
        policy.ended_at = now
    if done.items:
        audit.record(
            session, None, "retention.delete", "retention_policy", policy.kind,
            items=done.items, bytes=done.bytes, runs=len(done.by_run), cited=done.cited, until=str(ids[-1]),
        )  # fmt: skip
    return done


def _remove(session: Session, kind: str, ids: Iterable[UUID], done: Batch, now: datetime) -> None:
    source = SOURCES[kind]
    rows = _rows(session, source, ids)
    free = _free(session, source, rows)
    done.cited = len(rows) - len(free)
    gone = [row.id for row in free]
    if not gone:
        return
    if source.keys:
        model: Any = source.model
        session.execute(update(model).where(source.id.in_(gone)).values(removed_at=now))
        keys = {key for row in free for key in row[3:] if key is not None}
        _doom(session, keys | _uploads(session, kind, free), now)
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
    _tell(session, kind, done, now)


def _rows(session: Session, source: Source, ids: Iterable[UUID]) -> list[Row[*tuple[Any, ...]]]:
    run_id = source.run_id if source.run_id is not None else func.null()
    query = select(source.id.label("id"), run_id.label("run_id"), source.size.label("size"), *source.keys)
    found = query.where(source.id.in_(ids), *source.mine, *source.live).order_by(source.id)
    return list(session.execute(found.with_for_update(of=source.model, skip_locked=True)).all())


def _free(session: Session, source: Source, rows: list[Row[*tuple[Any, ...]]]) -> list[Row[*tuple[Any, ...]]]:
    """Those that nobody cites. Their runs are locked first: whoever cites one now waits until we are through."""
    if source.model is ProfileDiff:
        return _free_diffs(session, rows)
    wanted = {row.run_id for row in rows}
    locked = select(Run.id).where(Run.id.in_(wanted)).order_by(Run.id)
    mine = set(session.scalars(locked.with_for_update(of=Run, skip_locked=True)))
    cited = held(session, mine)
    return [row for row in rows if row.run_id in mine and row.run_id not in cited]


def _free_diffs(session: Session, rows: list[Row[*tuple[Any, ...]]]) -> list[Row[*tuple[Any, ...]]]:
    """A comparison stays as long as anything but a comparison holds a run of its sides."""
    free = []
    everything = Cited(session, None)
    for row in rows:
        sides = session.execute(
            select(func.mentioned_ids(ProfileDiff.a), func.mentioned_ids(ProfileDiff.b)).where(
                ProfileDiff.id == row.id
            )
        ).one()
        runs = set(everything.named([*sides[0], *sides[1]]))
        if not held(session, runs, but=OF_DIFFS):
            free.append(row)
    return free


def _uploads(session: Session, kind: str, rows: Iterable[Row[*tuple[Any, ...]]]) -> set[str]:
    """The files that imports were made of, which go with what was taken out of them."""
    if kind != "imports":
        return set()
    digest = Run.spec["sha256"].astext
    found = session.scalars(
        select(digest).where(Run.id.in_({row.run_id for row in rows}), digest.is_not(None))
    )
    return {str(one) for one in found}


def _doom(session: Session, keys: Iterable[str], now: datetime) -> None:
    rows = [{"sha256": key, "at": now} for key in sorted(keys)]
    if rows:
        session.execute(insert(DoomedBlob).values(rows).on_conflict_do_nothing())


def _tell(session: Session, kind: str, done: Batch, now: datetime) -> None:
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


def drain(session: Session, store: ArtifactStore, now: datetime) -> tuple[int, int]:
    """Deletes bytes whose rows have been marked for a day. Returns how many blobs are gone, and how many were kept.

    A row that names the same bytes keeps them; a run that somebody cites since gets its rows back. Nothing is deleted
    while a backup copies the store.
    """
    if not session.scalar(select(func.pg_try_advisory_xact_lock(STORE_LOCK))):
        return 0, 0
    query = select(DoomedBlob).where(DoomedBlob.at < now - GRACE).order_by(DoomedBlob.at).limit(BLOBS_AT_ONCE)
    doomed = session.scalars(query.with_for_update(skip_locked=True)).all()
    gone = kept = 0
    for blob in doomed:
        _give_back(session, blob.sha256)
        if needed(session, blob.sha256):
            kept += 1
        elif store.delete_settled(blob.sha256, now - SETTLED):
            gone += 1
        else:  # somebody has just stored it again, and may not have written the row yet
            kept += 1
            blob.at = now
            continue
        session.delete(blob)
    return gone, kept


def needed(session: Session, sha256: str) -> bool:
    """Whether a row that is not marked names these bytes."""
    rows = (
        exists().where(Artifact.sha256 == sha256, Artifact.removed_at.is_(None)),
        exists().where(
            or_(Profile.store_key == sha256, Profile.tree_key == sha256), Profile.removed_at.is_(None)
        ),
        exists().where(ProfileDiff.result_key == sha256, ProfileDiff.removed_at.is_(None)),
    )
    return bool(session.scalar(select(or_(*rows))))


def _give_back(session: Session, sha256: str) -> None:
    """Unmarks rows of runs that were cited after they had been marked: their bytes are still there."""
    of_artifacts = and_(Artifact.sha256 == sha256, Artifact.removed_at.is_not(None))
    of_profiles = and_(
        or_(Profile.store_key == sha256, Profile.tree_key == sha256), Profile.removed_at.is_not(None)
    )
    runs = {
        *session.scalars(select(Artifact.run_id).where(of_artifacts)),
        *session.scalars(select(Profile.run_id).where(of_profiles)),
    }
    cited = held(session, runs)
    if not cited:
        return
    for model, which in ((Artifact, of_artifacts), (Profile, of_profiles)):
        session.execute(update(model).where(which, model.run_id.in_(cited)).values(removed_at=None))
    told = delete(Removal).where(Removal.run_id.in_(cited), Removal.kind.in_(_FILES))
    session.execute(told.where(~_still_removed()).execution_options(synchronize_session=False))


def _still_removed() -> Any:
    """Whether anything of the run is still marked."""
    return or_(
        exists().where(Artifact.run_id == Removal.run_id, Artifact.removed_at.is_not(None)),
        exists().where(Profile.run_id == Removal.run_id, Profile.removed_at.is_not(None)),
    )
