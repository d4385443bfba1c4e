"""Every SELECT about storage, but those of retention itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Row, Text, Uuid, cast, func, or_, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session

from culprit.models import DoomedBlob, Profile, ProfileDiff, RetentionPolicy, StorageLook, UserAccount
from culprit.storage.retain import floor_id
from culprit.storage.sources import SOURCES


def last(session: Session, kind: str) -> StorageLook | None:
    """The last look of a kind that came to its end."""
    query = select(StorageLook).where(StorageLook.kind == kind, StorageLook.state == "done")
    return session.scalar(query.order_by(StorageLook.id.desc()).limit(1))


def open_look(session: Session, kind: str) -> StorageLook | None:
    """One that waits or is under way."""
    query = select(StorageLook).where(StorageLook.kind == kind, StorageLook.state.in_(("queued", "running")))
    return session.scalar(query.order_by(StorageLook.id).limit(1))


def looking(session: Session) -> list[Any]:
    """The kinds of looks that wait or are under way."""
    query = select(StorageLook.kind).where(StorageLook.state.in_(("queued", "running"))).distinct()
    return sorted(session.scalars(query))


def waiting(session: Session) -> int:
    """How many files are marked and still there."""
    return session.scalar(select(func.count()).select_from(DoomedBlob)) or 0


def policy(session: Session, kind: str) -> RetentionPolicy | None:
    """The policy of a kind, locked."""
    return session.scalar(select(RetentionPolicy).where(RetentionPolicy.kind == kind).with_for_update())


def policies(session: Session) -> Sequence[Row[RetentionPolicy, str]]:
    """(policy, who set it) of every kind that has one."""
    query = select(RetentionPolicy, UserAccount.name)
    return session.execute(query.outerjoin(UserAccount, UserAccount.id == RetentionPolicy.updated_by)).all()


def older(session: Session, kind: str, before: datetime, cited: list[UUID]) -> tuple[int, int, int, int, int]:
    """Of what is older: rows, bytes and runs that nobody cites; then rows and bytes that somebody does."""
    source = SOURCES[kind]
    of_cited = _of_cited(session, kind, cited)
    old = (*source.live, *source.mine, source.id < floor_id(before))
    size = func.coalesce(func.sum(source.size), 0)
    runs = func.count(source.run_id.distinct()) if source.run_id is not None else func.count()
    free = session.execute(
        select(func.count(), size, runs).select_from(source.model).where(*old, ~of_cited)
    ).one()
    kept = session.execute(select(func.count(), size).select_from(source.model).where(*old, of_cited)).one()
    return int(free[0]), int(free[1]), int(free[2]), int(kept[0]), int(kept[1])


def _of_cited(session: Session, kind: str, cited: list[UUID]) -> ColumnElement[bool]:
    """The condition that a row belongs to one of these runs; a comparison, that one of its sides does."""
    run_id = SOURCES[kind].run_id
    ours = cast(cited, ARRAY(Uuid))
    if run_id is not None:
        condition: ColumnElement[bool] = run_id == func.any(ours)
        return condition
    profiles = session.scalars(select(Profile.id).where(Profile.run_id == func.any(ours))).all()
    names = cast([str(one) for one in profiles], ARRAY(Text))
    sides = (
        func.mentioned_ids(side, type_=postgresql.ARRAY(Text)) for side in (ProfileDiff.a, ProfileDiff.b)
    )
    return or_(*(side.overlap(names) for side in sides))
