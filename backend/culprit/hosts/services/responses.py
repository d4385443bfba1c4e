"""Services as they are sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.models import Service
from culprit.services import queries
from culprit.services.schemas import Missing, ServiceRead

MISSING: Mapping[str, list[Missing]] = {
    "none": ["rate", "errors", "latency"],
    "prometheus": [],
    "access_log": [],
    "accepts": ["errors", "latency"],
}
"""Kind of source → what it does not measure."""


def services(session: Session, actor: Actor, rows: Sequence[Service]) -> list[ServiceRead]:
    """Services with the number of their hosts."""
    counts = queries.host_counts(session, actor, rows)
    return [
        ServiceRead.model_validate(
            {
                "id": row.id,
                "name": row.name,
                "selector": row.selector,
                "locate": row.locate,
                "source": {"kind": row.source_kind, **row.source},
                "has_token": row.ciphertext is not None,
                "missing": MISSING[row.source_kind],
                "proxy": row.source_kind == "accepts",
                "hosts": counts.get(row.id, 0),
                "created_at": row.created_at,
            }
        )
        for row in rows
    ]


def service(session: Session, actor: Actor, row: Service) -> ServiceRead:
    """One service."""
    return services(session, actor, [row])[0]
