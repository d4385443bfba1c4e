"""Build responses of on-call rotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Literal, cast
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts.schemas import Role
from culprit.domain.scheduling.rotations import NO_END, Shift, find_current_and_next
from culprit.infra.db.clock import utc_now
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.notifications.oncall_override import OncallOverride
from culprit.infra.models.notifications.rotation import Rotation
from culprit.notifications.oncall import assignments, queries
from culprit.notifications.oncall.schemas import (
    OncallResponse,
    OncallUser,
    OverrideResponse,
    RotationRef,
    RotationResponse,
    ShiftResponse,
)

#: Shifts are returned this far back and ahead.
MAX_AHEAD = timedelta(weeks=8)
MAX_BEHIND = timedelta(days=7)
#: The next shift can be far ahead if shifts are long.
NEXT_SHIFT_HORIZON = timedelta(days=366)
SHIFT_RANGE = 200
Kind = Literal["simple", "calendar", "pagerduty"]
People = Mapping[str, UserAccount]


def build_on_call(session: Session, rows: Sequence[Rotation]) -> list[OncallResponse]:
    """Return who is on call now and next, for each rotation."""
    at = utc_now()
    shifts = assignments.list_shifts(session, rows, at, at + NEXT_SHIFT_HORIZON)
    people = _load_accounts(session, rows, shifts)
    read = []
    for row in rows:
        present, following = find_current_and_next(shifts[row.id], at)
        read.append(
            OncallResponse(
                rotation=RotationRef(id=row.id, name=row.name),
                now=[_build_shift(item, people) for item in present],
                next=_build_shift(following, people) if following else None,
                fetched_at=row.fetched_at,
                failure=row.failure,
            )
        )
    return read


def build_rotations(session: Session, rows: Sequence[Rotation]) -> list[RotationResponse]:
    """Build rotations with the shifts of the next weeks."""
    at = utc_now()
    shifts = assignments.list_shifts(session, rows, at - MAX_BEHIND, at + NEXT_SHIFT_HORIZON)
    people = _load_accounts(session, rows, shifts)
    overrides = queries.load_overrides(session, [row.id for row in rows], at, at + NEXT_SHIFT_HORIZON)
    read = []
    for row in rows:
        present, following = find_current_and_next(shifts[row.id], at)
        near = [item for item in shifts[row.id] if item.start < at + MAX_AHEAD][:SHIFT_RANGE]
        read.append(
            RotationResponse(
                id=row.id,
                name=row.name,
                kind=cast(Kind, row.kind),
                zone=row.zone,
                handover=row.handover,
                first_day=row.first_day,
                days=row.days,
                people=[user for who in row.people if (user := _build_user(who, people)) is not None],
                source=row.source,
                has_secret=row.ciphertext is not None,
                accounts={name: UUID(item) for name, item in row.accounts.items()},
                overrides=[_build_override(item, people) for item in overrides.get(row.id, [])],
                now=[_build_shift(item, people) for item in present],
                next=_build_shift(following, people) if following else None,
                shifts=[_build_shift(item, people) for item in near],
                fetched_at=row.fetched_at,
                failure=row.failure,
                version=row.version,
            )
        )
    return read


def _load_accounts(
    session: Session, rows: Sequence[Rotation], shifts: Mapping[UUID, Sequence[Shift]]
) -> People:
    account_ids = {who for row in rows for who in row.people}
    account_ids |= {shift.who for each in shifts.values() for shift in each}
    ids = []
    for row in account_ids:
        try:
            ids.append(UUID(row))
        except ValueError:
            continue  # an external name
    return {str(account.id): account for account in queries.list_accounts(session, ids)}


def _build_user(who: str, people: People) -> OncallUser | None:
    person = people.get(who)
    if person is None:
        return None
    return OncallUser(
        id=person.id, name=person.name, role=cast(Role, person.role), disabled=person.disabled_at is not None
    )


def _build_shift(shift: Shift, people: People) -> ShiftResponse:
    person = _build_user(shift.who, people)
    return ShiftResponse(
        start=shift.start,
        end=None if shift.end >= NO_END else shift.end,
        who=person.name if person else shift.who,
        person=person,
        source=shift.source,
        level=shift.level,
    )


def _build_override(oncall_override: OncallOverride, people: People) -> OverrideResponse:
    return OverrideResponse(
        id=oncall_override.id,
        person=_build_user(str(oncall_override.user_id), people),
        starts_at=oncall_override.starts_at,
        ends_at=oncall_override.ends_at,
        reason=oncall_override.reason,
    )
