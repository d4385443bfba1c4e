"""Who is on call, as it is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Literal, cast
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.auth.schemas import Role
from culprit.core.oncall import FOREVER, Turn, now_and_next
from culprit.kit.clock import now
from culprit.models import OncallOverride, Rotation, UserAccount
from culprit.oncall import duty, queries
from culprit.oncall.schemas import (
    OncallRead,
    OverrideRead,
    Person,
    RotationRead,
    RotationRef,
    TurnRead,
)

#: So far ahead and back turns are shown.
AHEAD = timedelta(weeks=8)
BEHIND = timedelta(days=7)
#: The next one may be far away where turns are long.
FAR = timedelta(days=366)
SHOWN = 200
Kind = Literal["simple", "calendar", "pagerduty"]
People = Mapping[str, UserAccount]


def on_call(session: Session, rows: Sequence[Rotation]) -> list[OncallRead]:
    """Who is on call now and next, in each rotation."""
    at = now()
    found = duty.turns(session, rows, at, at + FAR)
    people = _people(session, rows, found)
    read = []
    for row in rows:
        present, following = now_and_next(found[row.id], at)
        read.append(
            OncallRead(
                rotation=RotationRef(id=row.id, name=row.name),
                now=[_turn(one, people) for one in present],
                next=_turn(following, people) if following else None,
                fetched_at=row.fetched_at,
                failure=row.failure,
            )
        )
    return read


def rotations(session: Session, rows: Sequence[Rotation]) -> list[RotationRead]:
    """Rotations with the turns of the next weeks."""
    at = now()
    found = duty.turns(session, rows, at - BEHIND, at + FAR)
    people = _people(session, rows, found)
    overrides = queries.overrides(session, [row.id for row in rows], at, at + FAR)
    read = []
    for row in rows:
        present, following = now_and_next(found[row.id], at)
        near = [one for one in found[row.id] if one.start < at + AHEAD][:SHOWN]
        read.append(
            RotationRead(
                id=row.id,
                name=row.name,
                kind=cast(Kind, row.kind),
                zone=row.zone,
                handover=row.handover,
                first_day=row.first_day,
                days=row.days,
                people=[one for who in row.people if (one := _person(who, people)) is not None],
                source=row.source,
                has_secret=row.ciphertext is not None,
                accounts={name: UUID(one) for name, one in row.accounts.items()},
                overrides=[_override(one, people) for one in overrides.get(row.id, [])],
                now=[_turn(one, people) for one in present],
                next=_turn(following, people) if following else None,
                turns=[_turn(one, people) for one in near],
                fetched_at=row.fetched_at,
                failure=row.failure,
                version=row.version,
            )
        )
    return read


def _people(session: Session, rows: Sequence[Rotation], found: Mapping[UUID, Sequence[Turn]]) -> People:
    wanted = {who for row in rows for who in row.people}
    wanted |= {turn.who for turns in found.values() for turn in turns}
    ids = []
    for one in wanted:
        try:
            ids.append(UUID(one))
        except ValueError:
            continue  # a name from elsewhere
    return {str(one.id): one for one in queries.accounts(session, ids)}


def _person(who: str, people: People) -> Person | None:
    one = people.get(who)
    if one is None:
        return None
    return Person(id=one.id, name=one.name, role=cast(Role, one.role), disabled=one.disabled_at is not None)


def _turn(one: Turn, people: People) -> TurnRead:
    person = _person(one.who, people)
    return TurnRead(
        start=one.start,
        end=None if one.end >= FOREVER else one.end,
        who=person.name if person else one.who,
        person=person,
        how=one.how,
        level=one.level,
    )


def _override(one: OncallOverride, people: People) -> OverrideRead:
    return OverrideRead(
        id=one.id,
        person=_person(str(one.user_id), people),
        starts_at=one.starts_at,
        ends_at=one.ends_at,
        reason=one.reason,
    )
