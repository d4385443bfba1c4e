"""Select upload addresses and the names of their creators."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from sqlalchemy import Select, or_, select
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.captures.upload_address import UploadAddress
from culprit.infra.models.hosts.host import Host


def select_uploads(actor: Actor) -> Select[Any]:
    """Select the actor's own addresses, and others for hosts that are visible for the actor."""
    visible = select(Host.id).where(visible_hosts_clause(actor))
    query = select(UploadAddress)
    if actor.unrestricted:
        return query
    return query.where(or_(UploadAddress.created_by == actor.id, UploadAddress.host_id.in_(visible)))


def load_user_names(session: Session, ids: Collection[UUID]) -> dict[UUID, str]:
    """Return the names of accounts by ID."""
    rows = session.execute(select(UserAccount.id, UserAccount.name).where(UserAccount.id.in_(ids)))
    return {row.id: row.name for row in rows}
