"""Standbys as they are sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.standby import KINDS, STARTS, of_kind
from culprit.captures.schemas import HostRef, UserRef
from culprit.kit.clock import now
from culprit.models import Capture, Standby
from culprit.standbys import queries, service
from culprit.standbys.schemas import (
    ConditionKind,
    ConditionRead,
    StandbyRead,
    StartedCapture,
    WantedRead,
)

SHOWN_CAPTURES = 10
Json = dict[str, Any]


def standbys(session: Session, rows: Sequence[Standby]) -> list[StandbyRead]:
    """These, with what they have started."""
    captures = queries.started(session, (row.id for row in rows))
    names = queries.people(session, (row.requested_by for row in rows))
    numbers = queries.incidents(session, (row.incident_id for row in rows))
    return [_read(row, captures.get(row.id, []), names, numbers) for row in rows]


def _read(
    one: Standby, captures: Sequence[Capture], names: dict[UUID, str], numbers: dict[UUID, int]
) -> StandbyRead:
    refused = one.refused
    return StandbyRead.model_validate(
        {
            "id": one.id,
            "number": one.number,
            "kind": one.kind,
            "host": HostRef(id=one.host.id, name=one.host.name),
            "state": one.state,
            "reason": one.reason,
            "ring_s": one.ring_s,
            "stacks": one.stacks,
            "kept_s": _kept_s(one),
            "conditions": [_condition(given) for given in one.conditions],
            "wanted": _wanted(one),
            "incident": {"id": one.incident_id, "number": numbers[one.incident_id]}
            if one.incident_id
            else None,
            "fires": one.fires,
            "fires_max": one.fires_max,
            "cooldown_s": one.cooldown_s,
            "fired_at": one.fired_at,
            "captures": [
                StartedCapture(id=each.id, number=each.number, state=each.state, at=each.created_at)
                for each in captures[:SHOWN_CAPTURES]
            ],
            "refused": {"at": refused["at"], "sentence": refused["sentence"]} if refused else None,
            "until": one.until,
            "by": UserRef(id=one.requested_by, name=names[one.requested_by])
            if one.requested_by in names and one.requested_by
            else None,
            "created_at": one.created_at,
            "started_at": one.started_at,
            "ended_at": one.ended_at,
            "interrupted": one.interrupted,
            "waiting": one.waiting,
            "failure": one.failure,
            "cost": one.cost,
            "readings": one.readings,
        }
    )


def _kept_s(one: Standby) -> float | None:
    if one.state != "watching" or one.started_at is None:
        return None
    return round(min(float(one.ring_s), max(0.0, (now() - one.started_at).total_seconds())), 1)


def _condition(given: Json) -> ConditionRead:
    kind = of_kind(str(given["kind"]))
    return ConditionRead.model_validate(
        {**given, "unit": KINDS[kind].unit if kind else "", "starts": kind in STARTS}
    )


def _wanted(one: Standby) -> WantedRead | None:
    if one.wanted is None:
        return None
    return WantedRead.model_validate(
        {
            "plan": "custom" if one.wanted.get("collectors") else one.wanted["plan"],
            "seconds": one.wanted.get("seconds"),
            "tier": service.tier(one),
            "scope": one.wanted.get("scope") or {},
        }
    )


def kinds() -> list[ConditionKind]:
    """All that may be waited for."""
    return [
        ConditionKind(
            kind=kind,
            title={"en": one.title.en, "zh": one.title.zh},
            unit=one.unit,
            key=one.key.pattern,
            example=one.example,
            starts=kind in STARTS,
        )
        for kind, one in KINDS.items()
    ]
