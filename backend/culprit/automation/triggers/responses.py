"""Triggers and alerts as they are sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.kit.clock import now
from culprit.models import Alert, TierAllowance, Trigger
from culprit.triggers import queries
from culprit.triggers.schemas import AlertRead, AllowanceRead, TriggerNamed, TriggerRead

PATH = "/api/v1/triggers/{}/alerts"


def triggers(session: Session, rows: Sequence[Trigger], secret: str | None = None) -> list[TriggerRead]:
    """Triggers with what they heard."""
    counts = queries.counts(session, [row.id for row in rows], now() - queries.DAY)
    people = queries.people(session, (row.owner_id for row in rows))
    channels = queries.channels(session, (UUID(one) for row in rows for one in row.channel_ids))
    same = (
        "id", "name", "kind", "proof", "options", "enabled", "created_at", "heard_at", "heard", "repeated",
        "refused_at", "refused_for",
    )  # fmt: skip
    return [
        TriggerRead.model_validate(
            {
                **{name: getattr(row, name) for name in same},
                "path": PATH.format(row.id),
                "channels": [named(UUID(one), channels) for one in row.channel_ids if UUID(one) in channels],
                "owner": named(row.owner_id, people),
                "alerts": counts.get(row.id, {}),
                "secret": secret,
            }
        )
        for row in rows
    ]


def alerts(session: Session, actor: Actor, rows: Sequence[Alert]) -> list[AlertRead]:
    """Alerts with what was started for them."""
    firings = queries.firings(session, (row.firing_id for row in rows))
    peers = {UUID(one) for firing in firings.values() for one in firing.peers}
    hosts = queries.hosts(session, actor, [*(row.host_id for row in rows), *peers])
    names = queries.trigger_names(session, (row.trigger_id for row in rows))
    numbers = queries.incident_numbers(session, (row.incident_id for row in rows))
    same = (
        "id", "number", "fingerprint", "cause", "title", "summary", "labels", "began_at", "state", "reason", "count",
        "service", "incident_id", "created_at", "last_at", "resolved_at",
    )  # fmt: skip
    found = []
    for row in rows:
        firing = firings.get(row.firing_id) if row.firing_id else None
        found.append(
            AlertRead.model_validate(
                {
                    **{name: getattr(row, name) for name in same},
                    "trigger": named(row.trigger_id, names),
                    "host": named(row.host_id, hosts),
                    "incident_number": numbers.get(row.incident_id) if row.incident_id else None,
                    "diagnosis_id": firing.diagnosis_id if firing else None,
                    "peers": [
                        named(UUID(one), hosts)
                        for one in (firing.peers if firing else ())
                        if UUID(one) in hosts
                    ],
                }
            )
        )
    return found


def allowances(session: Session, rows: Sequence[TierAllowance]) -> list[AllowanceRead]:
    """Labels with what they allow."""
    people = queries.people(session, (row.by for row in rows))
    return [
        AllowanceRead(
            id=row.id,
            label={row.label_name: row.label_value},
            tier=row.tier,
            by=named(row.by, people),
            created_at=row.created_at,
        )
        for row in rows
    ]


def named(one: UUID | None, names: Mapping[UUID, str]) -> TriggerNamed | None:
    """A reference by name; None for what is not known."""
    return TriggerNamed(id=one, name=names[one]) if one is not None and one in names else None
