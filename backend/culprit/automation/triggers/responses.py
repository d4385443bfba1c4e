"""Build responses of triggers and alerts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.automation.triggers import queries
from culprit.automation.triggers.schemas import (
    AlertResponse,
    NamedRef,
    TriggerResponse,
    UnattendedTierResponse,
)
from culprit.infra.db.clock import utc_now
from culprit.infra.models.automation.alert import Alert
from culprit.infra.models.automation.trigger import Trigger
from culprit.infra.models.automation.unattended_tier import UnattendedTier

PATH = "/api/v1/triggers/{}/alerts"


def build_triggers(
    session: Session, rows: Sequence[Trigger], secret: str | None = None
) -> list[TriggerResponse]:
    """Build triggers with their counts of alerts."""
    counts = queries.count_alerts(session, [row.id for row in rows], utc_now() - queries.DAY)
    people = queries.load_user_names(session, (row.owner_id for row in rows))
    channels = queries.load_channel_names(
        session, (UUID(channel_id) for row in rows for channel_id in row.channel_ids)
    )
    same = (
        "id", "name", "kind", "proof", "options", "enabled", "created_at", "last_alert_at", "alert_count",
        "duplicate_count", "rejected_at", "rejection_reason",
    )  # fmt: skip
    return [
        TriggerResponse.model_validate(
            {
                **{name: getattr(row, name) for name in same},
                "path": PATH.format(row.id),
                "channels": [
                    build_ref(UUID(channel_id), channels)
                    for channel_id in row.channel_ids
                    if UUID(channel_id) in channels
                ],
                "owner": build_ref(row.owner_id, people),
                "alerts": counts.get(row.id, {}),
                "secret": secret,
            }
        )
        for row in rows
    ]


def build_alerts(session: Session, actor: Actor, rows: Sequence[Alert]) -> list[AlertResponse]:
    """Build alerts with the responses that they started."""
    firings = queries.load_responses(session, (row.trigger_response_id for row in rows))
    peers = {UUID(peer) for firing in firings.values() for peer in firing.peers}
    hosts = queries.load_host_names(session, actor, [*(row.host_id for row in rows), *peers])
    names = queries.load_trigger_names(session, (row.trigger_id for row in rows))
    numbers = queries.load_incident_numbers(session, (row.incident_id for row in rows))
    same = (
        "id", "number", "fingerprint", "cause", "title", "summary", "labels", "began_at", "state", "reason", "count",
        "service", "incident_id", "created_at", "last_at", "resolved_at",
    )  # fmt: skip
    results = []
    for row in rows:
        firing = firings.get(row.trigger_response_id) if row.trigger_response_id else None
        results.append(
            AlertResponse.model_validate(
                {
                    **{name: getattr(row, name) for name in same},
                    "trigger": build_ref(row.trigger_id, names),
                    "host": build_ref(row.host_id, hosts),
                    "incident_number": numbers.get(row.incident_id) if row.incident_id else None,
                    "diagnosis_id": firing.diagnosis_id if firing else None,
                    "peers": [
                        build_ref(UUID(peer), hosts)
                        for peer in (firing.peers if firing else ())
                        if UUID(peer) in hosts
                    ],
                }
            )
        )
    return results


def build_unattended_tiers(session: Session, rows: Sequence[UnattendedTier]) -> list[UnattendedTierResponse]:
    """Build labels with the tier that they allow."""
    people = queries.load_user_names(session, (row.created_by for row in rows))
    return [
        UnattendedTierResponse(
            id=row.id,
            label={row.label_name: row.label_value},
            tier=row.tier,
            created_by=build_ref(row.created_by, people),
            created_at=row.created_at,
        )
        for row in rows
    ]


def build_ref(uuid: UUID | None, names: Mapping[UUID, str]) -> NamedRef | None:
    """Return a reference by name, or None if the name is unknown."""
    return NamedRef(id=uuid, name=names[uuid]) if uuid is not None and uuid in names else None
