"""Queries about comments."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.incidents.incident_comment import IncidentComment
from culprit.infra.models.notifications.channel import Channel


def select_comments(incident_id: UUID) -> Select[IncidentComment]:
    """Select the comments of an incident."""
    return select(IncidentComment).where(IncidentComment.incident_id == incident_id)


def find_comment(session: Session, incident_id: UUID, comment_id: UUID) -> IncidentComment | None:
    """Return a comment of an incident, or None."""
    return session.scalars(select_comments(incident_id).where(IncidentComment.id == comment_id)).first()


def count_comments(session: Session, incident_id: UUID) -> int:
    """Count the comments of an incident."""
    return session.scalars(select_comments(incident_id).with_only_columns(func.count())).one()


def count_comments_since(session: Session, user_id: UUID, since: datetime) -> int:
    """Count the comments of a user after a time, over all incidents."""
    query = select(func.count()).where(IncidentComment.by == user_id, IncidentComment.at > since)
    return session.scalars(query).one()


def list_published_comments(session: Session, incident_id: UUID, limit: int) -> Sequence[IncidentComment]:
    """List the comments of an incident without withdrawn ones, the oldest first."""
    query = select_comments(incident_id).where(IncidentComment.withdrawn_at.is_(None))
    return session.scalars(query.order_by(IncidentComment.id).limit(limit)).all()


def list_enabled_users(session: Session, limit: int) -> Sequence[UserAccount]:
    """List the enabled accounts by name."""
    query = select(UserAccount).where(UserAccount.disabled_at.is_(None)).order_by(UserAccount.name)
    return session.scalars(query.limit(limit)).all()


def list_enabled_channels(session: Session, user_id: UUID) -> Sequence[Channel]:
    """List the enabled channels of a user."""
    return session.scalars(select(Channel).where(Channel.user_id == user_id, Channel.enabled)).all()
