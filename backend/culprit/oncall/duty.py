"""Who is on call when: the turns of a rotation, wherever they come from, with its overrides laid over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.core import oncall
from culprit.core.cron import zone_of
from culprit.core.oncall import Turn, account_of
from culprit.models import OncallOverride, OncallTurn, Rotation
from culprit.oncall import queries

MOMENT = timedelta(seconds=1)


def turns(
    session: Session, rows: Sequence[Rotation], start: datetime, end: datetime
) -> dict[UUID, list[Turn]]:
    """The turns of each rotation that overlap [start, end). `who` is the id of an account, or a name from elsewhere."""
    ids = [row.id for row in rows]
    elsewhere = queries.turns(session, ids, start, end)
    overrides = queries.overrides(session, ids, start, end)
    names = _names(session) if elsewhere else {}
    found = {}
    for row in rows:
        own = _own(row, start, end) if row.kind == "simple" else []
        own += [_read(one, row, names) for one in elsewhere.get(row.id, [])]
        found[row.id] = oncall.overridden(own, map(_over, overrides.get(row.id, [])))
    return found


def _names(session: Session) -> Mapping[str, str]:
    return {one.name.casefold(): str(one.id) for one in queries.accounts(session)}


def _own(row: Rotation, start: datetime, end: datetime) -> list[Turn]:
    try:
        zone = zone_of(row.zone)
    except ValueError:
        return []
    assert row.first_day is not None
    made = oncall.Rotation(row.people, row.first_day, row.days, time.fromisoformat(row.handover), zone)
    return made.turns(start, end)


def _read(one: OncallTurn, row: Rotation, names: Mapping[str, str]) -> Turn:
    who = account_of(one.who, one.address, row.accounts, names) or one.who
    return Turn(one.starts_at, one.ends_at, who, "calendar", one.level)


def _over(one: OncallOverride) -> Turn:
    return Turn(one.starts_at, one.ends_at, str(one.user_id), "override")


def on_call(session: Session, at: datetime, rotation_id: UUID | None = None) -> list[UUID]:
    """The accounts that are on call at `at`, in one rotation or in all, those called first before the others.

    Accounts that are disabled are left out; so is whoever has no account.
    """
    rows = [one for one in queries.rotations(session) if rotation_id in {None, one.id}]
    found: dict[str, None] = {}
    for each in turns(session, rows, at, at + MOMENT).values():
        now, _ = oncall.now_and_next(each, at)
        found |= dict.fromkeys(one.who for one in now)
    alive = {str(one.id): one.id for one in queries.accounts(session)}
    return [alive[who] for who in found if who in alive]
