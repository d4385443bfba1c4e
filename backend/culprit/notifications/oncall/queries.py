"""SELECTs of on-call rotations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.notifications.oncall_override import OncallOverride
from culprit.infra.models.notifications.oncall_shift import OncallShift
from culprit.infra.models.notifications.rotation import Rotation

MAX_ROTATIONS = 200


def select_rotations() -> Select[Any]:
    """Select all rotations; every user can see who is on call."""
    return select(Rotation)


def list_rotations(session: Session) -> list[Rotation]:
    """Return all rotations by name."""
    return list(session.scalars(select_rotations().order_by(Rotation.name).limit(MAX_ROTATIONS)))


def find_rotation(session: Session, rotation_id: UUID, *, lock: bool = False) -> Rotation | None:
    """Return a rotation, or None."""
    query = select_rotations().where(Rotation.id == rotation_id)
    if lock:
        query = query.with_for_update(of=Rotation).execution_options(populate_existing=True)
    return session.scalars(query).first()


def find_rotation_id(session: Session, name: str) -> UUID | None:
    """Return the ID of the rotation with this name, or None."""
    return session.scalar(select(Rotation.id).where(Rotation.name == name))


def load_overrides(
    session: Session, ids: Sequence[UUID], start: datetime, end: datetime
) -> dict[UUID, list[OncallOverride]]:
    """Return the overrides that overlap [start, end), in order of creation."""
    query = (
        select(OncallOverride)
        .where(
            OncallOverride.rotation_id.in_(ids),
            OncallOverride.starts_at < end,
            OncallOverride.ends_at > start,
        )
        .order_by(OncallOverride.id)
        .limit(5000)
    )
    oncall_overrides: dict[UUID, list[OncallOverride]] = {}
    for row in session.scalars(query):
        oncall_overrides.setdefault(row.rotation_id, []).append(row)
    return oncall_overrides


def lock_override(session: Session, rotation_id: UUID, override_id: UUID) -> OncallOverride | None:
    """Return an override of a rotation, locked, or None."""
    query = select(OncallOverride).where(
        OncallOverride.id == override_id, OncallOverride.rotation_id == rotation_id
    )
    return session.scalars(query.with_for_update()).first()


def load_external_shifts(
    session: Session, ids: Sequence[UUID], start: datetime, end: datetime
) -> dict[UUID, list[OncallShift]]:
    """Return the external shifts that overlap [start, end)."""
    query = (
        select(OncallShift)
        .where(OncallShift.rotation_id.in_(ids), OncallShift.starts_at < end, OncallShift.ends_at > start)
        .order_by(OncallShift.starts_at, OncallShift.level, OncallShift.id)
        .limit(20_000)
    )
    oncall_shifts: dict[UUID, list[OncallShift]] = {}
    for row in session.scalars(query):
        oncall_shifts.setdefault(row.rotation_id, []).append(row)
    return oncall_shifts


def list_accounts(session: Session, ids: Iterable[UUID] | None = None) -> list[UserAccount]:
    """Return accounts by name: these, or all that are not disabled."""
    query = select(UserAccount).order_by(UserAccount.name)
    if ids is None:
        return list(session.scalars(query.where(UserAccount.disabled_at.is_(None)).limit(2000)))
    requested_ids = set(ids)
    return list(session.scalars(query.where(UserAccount.id.in_(requested_ids)))) if requested_ids else []
