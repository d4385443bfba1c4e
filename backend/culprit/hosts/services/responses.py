"""Build responses of services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.hosts.services import queries
from culprit.hosts.services.schemas import Missing, ServiceResponse
from culprit.infra.models.hosts.service import Service

MISSING_BY_SOURCE: Mapping[str, list[Missing]] = {
    "none": ["rate", "errors", "latency"],
    "prometheus": [],
    "access_log": [],
    "accepts": ["errors", "latency"],
}
"""Kind of source → what it does not measure."""


def build_services(session: Session, actor: Actor, rows: Sequence[Service]) -> list[ServiceResponse]:
    """Build services with the number of their hosts."""
    counts = queries.count_hosts(session, actor, rows)
    return [
        ServiceResponse.model_validate(
            {
                "id": row.id,
                "name": row.name,
                "selector": row.selector,
                "locate": row.locate,
                "source": {"kind": row.source_kind, **row.source},
                "has_token": row.ciphertext is not None,
                "missing": MISSING_BY_SOURCE[row.source_kind],
                "proxy": row.source_kind == "accepts",
                "hosts": counts.get(row.id, 0),
                "created_at": row.created_at,
            }
        )
        for row in rows
    ]


def build_service(session: Session, actor: Actor, row: Service) -> ServiceResponse:
    """Build one service."""
    return build_services(session, actor, [row])[0]
