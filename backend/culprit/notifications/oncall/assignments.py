"""Who is on call when: the shifts of a rotation from any source, with overrides applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.domain.scheduling import rotations
from culprit.domain.scheduling.cron import get_zone
from culprit.domain.scheduling.rotations import Shift, find_account
from culprit.infra.models.notifications.oncall_override import OncallOverride
from culprit.infra.models.notifications.oncall_shift import OncallShift
from culprit.infra.models.notifications.rotation import Rotation
from culprit.notifications.oncall import queries

INSTANT = timedelta(seconds=1)


def list_shifts(
    session: Session, rows: Sequence[Rotation], start: datetime, end: datetime
) -> dict[UUID, list[Shift]]:
    """Return the shifts of each rotation that overlap [start, end). `who` is an account ID or an external name."""
    ids = [row.id for row in rows]
    elsewhere = queries.load_external_shifts(session, ids, start, end)
    overrides = queries.load_overrides(session, ids, start, end)
    names = _load_account_names(session) if elsewhere else {}
    results = {}
    for row in rows:
        own = _list_rotation_shifts(row, start, end) if row.kind == "simple" else []
        own += [_to_shift(item, row, names) for item in elsewhere.get(row.id, [])]
        results[row.id] = rotations.apply_overrides(own, map(_to_override, overrides.get(row.id, [])))
    return results


def _load_account_names(session: Session) -> Mapping[str, str]:
    return {account.name.casefold(): str(account.id) for account in queries.list_accounts(session)}


def _list_rotation_shifts(row: Rotation, start: datetime, end: datetime) -> list[Shift]:
    try:
        zone = get_zone(row.zone)
    except ValueError:
        return []
    assert row.first_day is not None
    rotation_rule = rotations.RotationRule(
        row.people, row.first_day, row.days, time.fromisoformat(row.handover), zone
    )
    return rotation_rule.list_shifts(start, end)


def _to_shift(oncall_shift: OncallShift, row: Rotation, names: Mapping[str, str]) -> Shift:
    who = find_account(oncall_shift.who, oncall_shift.address, row.accounts, names) or oncall_shift.who
    return Shift(oncall_shift.starts_at, oncall_shift.ends_at, who, "calendar", oncall_shift.level)


def _to_override(oncall_override: OncallOverride) -> Shift:
    return Shift(oncall_override.starts_at, oncall_override.ends_at, str(oncall_override.user_id), "override")


def list_on_call_users(session: Session, at: datetime, rotation_id: UUID | None = None) -> list[UUID]:
    """Return the accounts on call at `at`, in one rotation or in all, lowest level first.

    Disabled accounts and people without an account are omitted.
    """
    rows = [rotation for rotation in queries.list_rotations(session) if rotation_id in {None, rotation.id}]
    results: dict[str, None] = {}
    for each in list_shifts(session, rows, at, at + INSTANT).values():
        now, _ = rotations.find_current_and_next(each, at)
        results |= dict.fromkeys(item.who for item in now)
    alive = {str(account.id): account.id for account in queries.list_accounts(session)}
    return [alive[who] for who in results if who in alive]
