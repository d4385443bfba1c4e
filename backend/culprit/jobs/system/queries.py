"""Select the retention policies and storage checks that wait for a job."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Select, and_, func, or_, select
from sqlalchemy.orm import Session

from culprit.infra.models.automation.alert import Alert
from culprit.infra.models.notifications.grafana_annotation import GrafanaAnnotation
from culprit.infra.models.notifications.notification import Notification
from culprit.infra.models.system.retention_policy import RetentionPolicy
from culprit.infra.models.system.storage_check import StorageCheck

#: A storage check that was started this long ago lost its worker.
STORAGE_CHECK_LIMIT = timedelta(minutes=30)
_now = func.clock_timestamp


def pending_policies() -> Select[UUID]:
    """Select the retention policies that are due."""
    return select(RetentionPolicy.id).where(RetentionPolicy.due_at <= _now())


def pending_storage_checks() -> Select[UUID]:
    """Select the queued storage checks, and those whose worker was lost."""
    lost = and_(StorageCheck.state == "running", StorageCheck.started_at < _now() - STORAGE_CHECK_LIMIT)
    return select(StorageCheck.id).where(or_(StorageCheck.state == "queued", lost))


def read_database_time(session: Session) -> datetime:
    """Return the current time of the database."""
    moment: datetime = session.scalars(select(_now())).one()
    return moment


def select_old_alerts(age: timedelta, limit: int) -> Select[UUID]:
    """Select alerts that are older than `age`."""
    return select(Alert.id).where(Alert.last_at < _now() - age).limit(limit)


def select_old_notifications(age: timedelta, limit: int) -> Select[UUID]:
    """Select finished notifications that are older than `age`."""
    old = Notification.created_at < _now() - age
    return select(Notification.id).where(Notification.state != "queued", old).limit(limit)


def select_old_annotations(age: timedelta, limit: int) -> Select[UUID]:
    """Select finished annotations that are older than `age`."""
    old = GrafanaAnnotation.not_before < _now() - age
    return select(GrafanaAnnotation.id).where(GrafanaAnnotation.state != "queued", old).limit(limit)


def select_old_storage_checks(age: timedelta, limit: int) -> Select[UUID]:
    """Select storage checks that are older than `age`."""
    return select(StorageCheck.id).where(StorageCheck.created_at < _now() - age).limit(limit)


def has_recent_measurement(session: Session, age: timedelta) -> bool:
    """Return whether a measurement of the storage was requested within `age`."""
    recent = select(StorageCheck.id).where(
        StorageCheck.kind == "measure", StorageCheck.created_at > _now() - age
    )
    return session.scalar(recent.limit(1)) is not None
