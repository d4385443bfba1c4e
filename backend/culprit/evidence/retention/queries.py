"""SELECTs of storage checks, policies and previews."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Row, Text, Uuid, cast, func, or_, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session

from culprit.evidence.retention.retain import build_floor_id
from culprit.evidence.retention.sources import STORAGE_KINDS
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.models.system.blob_deletion import BlobDeletion
from culprit.infra.models.system.retention_policy import RetentionPolicy
from culprit.infra.models.system.storage_check import StorageCheck


def find_last_check(session: Session, kind: str) -> StorageCheck | None:
    """Return the last completed check of a kind, or None."""
    query = select(StorageCheck).where(StorageCheck.kind == kind, StorageCheck.state == "done")
    return session.scalar(query.order_by(StorageCheck.id.desc()).limit(1))


def find_open_check(session: Session, kind: str) -> StorageCheck | None:
    """Return the oldest queued or running check of a kind, or None."""
    query = select(StorageCheck).where(
        StorageCheck.kind == kind, StorageCheck.state.in_(("queued", "running"))
    )
    return session.scalar(query.order_by(StorageCheck.id).limit(1))


def list_open_kinds(session: Session) -> list[Any]:
    """Return the kinds of queued and running checks, sorted."""
    query = select(StorageCheck.kind).where(StorageCheck.state.in_(("queued", "running"))).distinct()
    return sorted(session.scalars(query))


def count_pending_blobs(session: Session) -> int:
    """Return the number of blobs that are marked and not deleted yet."""
    return session.scalar(select(func.count()).select_from(BlobDeletion)) or 0


def lock_policy(session: Session, kind: str) -> RetentionPolicy | None:
    """Return the policy of a kind with a row lock, or None."""
    return session.scalar(select(RetentionPolicy).where(RetentionPolicy.kind == kind).with_for_update())


def list_policies(session: Session) -> Sequence[Row[RetentionPolicy, str]]:
    """Return all policies, each with the name of the account that set it."""
    query = select(RetentionPolicy, UserAccount.name)
    return session.execute(query.outerjoin(UserAccount, UserAccount.id == RetentionPolicy.updated_by)).all()


def sum_older(
    session: Session, kind: str, before: datetime, cited: list[UUID]
) -> tuple[int, int, int, int, int]:
    """Return (rows, bytes, runs, cited rows, cited bytes) of data before a time; the first three are not cited."""
    source = STORAGE_KINDS[kind]
    of_cited = _build_cited_condition(session, kind, cited)
    old = (*source.stored_condition, *source.kind_condition, source.id < build_floor_id(before))
    size = func.coalesce(func.sum(source.size), 0)
    runs = func.count(source.run_id.distinct()) if source.run_id is not None else func.count()
    free = session.execute(
        select(func.count(), size, runs).select_from(source.model).where(*old, ~of_cited)
    ).one()
    row = session.execute(select(func.count(), size).select_from(source.model).where(*old, of_cited)).one()
    return int(free[0]), int(free[1]), int(free[2]), int(row[0]), int(row[1])


def _build_cited_condition(session: Session, kind: str, cited: list[UUID]) -> ColumnElement[bool]:
    """Return the condition that a row, or a side of a comparison, belongs to one of these runs."""
    run_id = STORAGE_KINDS[kind].run_id
    run_ids = cast(cited, ARRAY(Uuid))
    if run_id is not None:
        condition: ColumnElement[bool] = run_id == func.any(run_ids)
        return condition
    profiles = session.scalars(select(Profile.id).where(Profile.run_id == func.any(run_ids))).all()
    names = cast([str(profile) for profile in profiles], ARRAY(Text))
    sides = (
        func.mentioned_ids(side, type_=postgresql.ARRAY(Text))
        for side in (ProfileComparison.a, ProfileComparison.b)
    )
    return or_(*(side.overlap(names) for side in sides))
