"""Lock the rows that the jobs of notifications change."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from culprit.infra.models.automation.trigger_response import TriggerResponseRecord
from culprit.infra.models.notifications.grafana_annotation import GrafanaAnnotation
from culprit.infra.models.notifications.notification import Notification

#: Key of an advisory lock.
LOCK = 0x47524146
_now = func.clock_timestamp


def lock_trigger_response(session: Session, diagnosis_id: UUID) -> TriggerResponseRecord | None:
    """Return the trigger response of a diagnosis, locked, or None."""
    return session.scalar(
        select(TriggerResponseRecord)
        .where(TriggerResponseRecord.diagnosis_id == diagnosis_id)
        .with_for_update(of=TriggerResponseRecord)
    )


def try_annotation_lock(session: Session) -> bool:
    """Lock the synchronization of annotations; return False if another process has the lock."""
    return bool(session.scalar(select(func.pg_try_advisory_xact_lock(LOCK))))


def lock_due_annotation(session: Session, row_id: UUID) -> GrafanaAnnotation | None:
    """Return an annotation that is due, locked, or None."""
    return session.scalar(
        select(GrafanaAnnotation)
        .where(
            GrafanaAnnotation.id == row_id,
            GrafanaAnnotation.state == "queued",
            GrafanaAnnotation.not_before <= _now(),
        )
        .with_for_update(skip_locked=True)
    )


def lock_due_notification(session: Session, notification_id: UUID) -> Notification | None:
    """Return a notification that is due, locked, or None."""
    return session.scalar(
        select(Notification)
        .where(
            Notification.id == notification_id,
            Notification.state == "queued",
            Notification.not_before <= _now(),
        )
        .with_for_update(skip_locked=True)
    )
