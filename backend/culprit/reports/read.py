"""Reports as they are sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import allowed
from culprit.incidents.queries import names
from culprit.incidents.read_chain import Names, person
from culprit.kit.clock import now
from culprit.models import Incident, Report, ReportShare, ReportVersion
from culprit.reports import freeze, queries
from culprit.reports.schemas import (
    ReportMay,
    ReportRead,
    ReportSummary,
    ShareRead,
    VersionRead,
    VersionSummary,
)

SAME = ("id", "incident_id", "title", "language", "preset", "version", "frozen", "created_at", "updated_at")
WRITTEN = (
    "zone",
    "kinds",
    "words",
    "summary",
    "impact",
    "detected_at",
    "mitigated_at",
    "follow_ups",
    "comments",
)


def summaries(session: Session, rows: Sequence[Report]) -> list[ReportSummary]:
    """Reports in a list."""
    told = names(session, [one.created_by for one in rows])
    return [ReportSummary(**_same(one), created_by=person(one.created_by, told)) for one in rows]


def _same(one: Report) -> dict[str, Any]:
    return {name: getattr(one, name) for name in SAME}


def report(session: Session, actor: Actor, one: Report, *, needs_approval: bool) -> ReportRead:
    """A draft with its versions and links."""
    session.flush()
    frozen = queries.versions(session, actor, one.id)
    links = queries.shares(session, [each.id for each in frozen]) if frozen else []
    incident = session.get_one(Incident, one.incident_id)
    told = names(
        session,
        [
            one.created_by,
            *(each.created_by for each in links),
            *(who for each in frozen for who in (each.created_by, each.approved_by)),
        ],
    )
    return ReportRead(
        **_same(one),
        **{name: getattr(one, name) for name in WRITTEN},
        number=incident.number,
        created_by=person(one.created_by, told),
        versions=[_version(each, told) for each in frozen],
        shares=_shares(session, links, {each.id: each.number for each in frozen}, told),
        may=ReportMay(
            edit=allowed(actor, "report.edit"),
            approve=allowed(actor, "report.approve"),
            share=allowed(actor, "report.share"),
            names=allowed(actor, "report.names"),
            alone=not needs_approval,
        ),
    )


def _version(one: ReportVersion, told: Names) -> VersionSummary:
    return VersionSummary(**_frozen(one, told))


def _frozen(one: ReportVersion, told: Names) -> dict[str, Any]:
    same = ("id", "report_id", "number", "sha256", "counts", "created_at", "approved_at")
    return {
        **{name: getattr(one, name) for name in same},
        "size": len(one.content),
        "intact": freeze.digest(one.content) == one.sha256,
        "created_by": person(one.created_by, told),
        "approved_by": person(one.approved_by, told),
    }


def version(session: Session, one: ReportVersion) -> VersionRead:
    """A frozen version with what it says. Raises Conflict where its bytes were altered."""
    told = names(session, [one.created_by, one.approved_by])
    return VersionRead(**_frozen(one, told), content=freeze.opened(one))


def _shares(
    session: Session, links: Sequence[ReportShare], numbers: dict[UUID, int], told: Names
) -> list[ShareRead]:
    visits = queries.visit_counts(session, [one.id for one in links]) if links else {}
    return [share(one, numbers[one.version_id], told, visits.get(one.id, 0)) for one in links]


def share(one: ReportShare, number: int, told: Names, visits: int = 0, url: str | None = None) -> ShareRead:
    """A link."""
    same = ("id", "version_id", "note", "expires_at", "revoked_at", "created_at")
    return ShareRead(
        **{name: getattr(one, name) for name in same},
        number=number,
        open=one.revoked_at is None and one.expires_at > now(),
        created_by=person(one.created_by, told),
        visits=visits,
        url=url,
    )
