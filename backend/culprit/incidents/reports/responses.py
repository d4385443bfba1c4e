"""Builders of report responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.authorization import is_allowed
from culprit.incidents.records.queries import load_user_names
from culprit.incidents.reports import freeze, queries
from culprit.incidents.reports.schemas import (
    ReportPermissions,
    ReportResponse,
    ReportSummary,
    ShareResponse,
    VersionResponse,
    VersionSummary,
)
from culprit.incidents.responses.chain import Names, build_user_ref
from culprit.infra.db.clock import utc_now
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.reports.report import Report
from culprit.infra.models.reports.report_share import ReportShare
from culprit.infra.models.reports.report_version import ReportVersion

COPIED_FIELDS = (
    "id",
    "incident_id",
    "title",
    "language",
    "preset",
    "version",
    "frozen",
    "created_at",
    "updated_at",
)
TEXT_FIELDS = (
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


def build_summaries(session: Session, rows: Sequence[Report]) -> list[ReportSummary]:
    """Build the list of reports."""
    user_names = load_user_names(session, [row.created_by for row in rows])
    return [
        ReportSummary(**_copy_fields(row), created_by=build_user_ref(row.created_by, user_names))
        for row in rows
    ]


def _copy_fields(report: Report) -> dict[str, Any]:
    return {name: getattr(report, name) for name in COPIED_FIELDS}


def build_report(session: Session, actor: Actor, report: Report, *, needs_approval: bool) -> ReportResponse:
    """Build a draft with its versions and links."""
    session.flush()
    frozen = queries.list_versions(session, actor, report.id)
    links = queries.list_shares(session, [each.id for each in frozen]) if frozen else []
    incident = session.get_one(Incident, report.incident_id)
    user_names = load_user_names(
        session,
        [
            report.created_by,
            *(each.created_by for each in links),
            *(who for each in frozen for who in (each.created_by, each.approved_by)),
        ],
    )
    return ReportResponse(
        **_copy_fields(report),
        **{name: getattr(report, name) for name in TEXT_FIELDS},
        number=incident.number,
        created_by=build_user_ref(report.created_by, user_names),
        versions=[_build_version_summary(each, user_names) for each in frozen],
        shares=_build_shares(session, links, {each.id: each.number for each in frozen}, user_names),
        permissions=ReportPermissions(
            edit=is_allowed(actor, "report.edit"),
            approve=is_allowed(actor, "report.approve"),
            share=is_allowed(actor, "report.share"),
            names=is_allowed(actor, "report.names"),
            alone=not needs_approval,
        ),
    )


def _build_version_summary(report_version: ReportVersion, names: Names) -> VersionSummary:
    return VersionSummary(**_copy_version_fields(report_version, names))


def _copy_version_fields(report_version: ReportVersion, names: Names) -> dict[str, Any]:
    same = ("id", "report_id", "number", "sha256", "counts", "created_at", "approved_at")
    return {
        **{name: getattr(report_version, name) for name in same},
        "size": len(report_version.content),
        "intact": freeze.compute_digest(report_version.content) == report_version.sha256,
        "created_by": build_user_ref(report_version.created_by, names),
        "approved_by": build_user_ref(report_version.approved_by, names),
    }


def build_version(session: Session, report_version: ReportVersion) -> VersionResponse:
    """Build a frozen version with its content. Raises ConflictError if its bytes were altered."""
    user_names = load_user_names(session, [report_version.created_by, report_version.approved_by])
    return VersionResponse(
        **_copy_version_fields(report_version, user_names), content=freeze.open_content(report_version)
    )


def _build_shares(
    session: Session, links: Sequence[ReportShare], numbers: dict[UUID, int], names: Names
) -> list[ShareResponse]:
    visits = queries.count_visits(session, [link.id for link in links]) if links else {}
    return [build_share(link, numbers[link.version_id], names, visits.get(link.id, 0)) for link in links]


def build_share(
    report_share: ReportShare, number: int, names: Names, visits: int = 0, url: str | None = None
) -> ShareResponse:
    """Build a share link."""
    same = ("id", "version_id", "note", "expires_at", "revoked_at", "created_at")
    return ShareResponse(
        **{name: getattr(report_share, name) for name in same},
        number=number,
        open=report_share.revoked_at is None and report_share.expires_at > utc_now(),
        created_by=build_user_ref(report_share.created_by, names),
        visits=visits,
        url=url,
    )
