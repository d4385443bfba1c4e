"""SELECTs of rows with encrypted secrets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.infra.models.accounts.oidc_provider import OidcProvider
from culprit.infra.models.automation.trigger import Trigger
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.service import Service
from culprit.infra.models.notifications.channel import Channel
from culprit.infra.models.notifications.rotation import Rotation
from culprit.infra.models.reports.report_version import ReportVersion

SealedRow = Channel | Credential | OidcProvider | ReportVersion | Rotation | Service | Trigger


def lock_outdated_rows(session: Session, table: type[SealedRow], key_version: int) -> Sequence[SealedRow]:
    """Return the rows whose secret is encrypted with another key version, locked."""
    query = select(table).where(table.key_version.is_not(None), table.key_version != key_version)
    return cast(Sequence[SealedRow], session.scalars(query.with_for_update()).all())
