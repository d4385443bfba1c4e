"""Select the notifications, annotations and calendars that wait to be sent or fetched."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import Session

from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.automation.alert import Alert
from culprit.infra.models.automation.trigger_response import TriggerResponseRecord
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.evidence.reported_event import ReportedEvent as Event
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.notifications.channel import Channel
from culprit.infra.models.notifications.grafana_annotation import GrafanaAnnotation
from culprit.infra.models.notifications.notification import Notification
from culprit.infra.models.notifications.rotation import Rotation

_now = func.clock_timestamp


def pending_diagnosis_notifications() -> Select[UUID]:
    """Select the finished diagnoses of triggers that no channel was notified of yet."""
    return (
        select(TriggerResponseRecord.diagnosis_id)
        .join(Diagnosis, Diagnosis.id == TriggerResponseRecord.diagnosis_id)
        .where(TriggerResponseRecord.notified_at.is_(None), Diagnosis.state != "running")
    )


def pending_annotations() -> Select[UUID]:
    """Select the annotations that are due, the oldest first."""
    return (
        select(GrafanaAnnotation.id)
        .where(GrafanaAnnotation.state == "queued", GrafanaAnnotation.not_before <= _now())
        .order_by(GrafanaAnnotation.not_before)
    )


def pending_notifications() -> Select[UUID]:
    """Select the notifications that are due, the oldest first."""
    return (
        select(Notification.id)
        .where(Notification.state == "queued", Notification.not_before <= _now())
        .order_by(Notification.not_before)
    )


def pending_calendars() -> Select[UUID]:
    """Select the rotations whose external calendar is due."""
    return select(Rotation.id).where(Rotation.fetch_after <= _now())


def summarize_alerts(session: Session, response_id: UUID) -> tuple[str | None, int]:
    """Return the first title and the number of the alerts of a trigger response."""
    query = select(func.min(Alert.title), func.sum(Alert.count)).where(
        Alert.trigger_response_id == response_id
    )
    title, count = session.execute(query).one()
    return title, int(count or 0)


def load_host_names(session: Session, ids: Sequence[UUID]) -> dict[str, str]:
    """Return the names of hosts by ID."""
    rows = session.execute(select(Host.id, Host.name).where(Host.id.in_(ids)))
    return {str(row.id): row.name for row in rows}


def list_enabled_channels(session: Session, ids: Sequence[UUID]) -> Sequence[Channel]:
    """Return the enabled ones of these channels."""
    return session.scalars(select(Channel).where(Channel.id.in_(ids), Channel.enabled)).all()


def list_channels_of_kind(session: Session, kind: str) -> Sequence[Channel]:
    """Return the enabled channels of a kind."""
    return session.scalars(select(Channel).where(Channel.kind == kind, Channel.enabled)).all()


def select_ended_captures(since: datetime) -> Select[Capture]:
    """Select the captures that ended after `since`."""
    return select(Capture).where(Capture.ended_at > since)


def select_changed_incidents(since: datetime) -> Select[Incident]:
    """Select the incidents that changed after `since`."""
    return select(Incident).where(Incident.updated_at > since)


def select_changed_events(since: datetime) -> Select[Event]:
    """Select the reported events that were created or changed after `since`."""
    return select(Event).where(or_(Event.created_at > since, Event.changed_at > since))


def list_withdrawn_event_ids(session: Session, since: datetime) -> Sequence[UUID]:
    """Return the reported events that were withdrawn after `since`."""
    return session.scalars(select(Event.id).where(Event.withdrawn_at > since)).all()


def list_annotations(
    session: Session, channel_id: UUID, keys: Collection[str], incident_keys: Collection[str], prefix: int
) -> Sequence[GrafanaAnnotation]:
    """Return the annotations of a channel with a key, or whose first `prefix` letters are a key, in these sets."""
    known = or_(
        GrafanaAnnotation.key.in_(keys),
        func.substr(GrafanaAnnotation.key, 1, prefix).in_(incident_keys),
    )
    query = select(GrafanaAnnotation).where(GrafanaAnnotation.channel_id == channel_id, known)
    return session.scalars(query).all()
