"""HTTP endpoints of reports for signed-in users."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.incidents.records import journal
from culprit.incidents.records.queries import load_user_names
from culprit.incidents.reports import freeze, pages, pseudonym_map, queries, responses, service, shares
from culprit.incidents.reports.requests import Form, ReportCreate, ReportUpdate, ShareCreate, VersionRequest
from culprit.incidents.reports.schemas import (
    ReportPreviewResponse,
    ReportResponse,
    ReportSummary,
    ShareResponse,
    VersionResponse,
    VisitResponse,
)
from culprit.infra.request_dependencies import DbDep, StoreDep
from culprit.infra.settings import Settings
from culprit.infra.vault import get_vault

router = APIRouter(tags=["reports"])
ReportNamesResponse = dict[str, dict[str, Annotated[str, Field(description="The pseudonym of an original")]]]


def _is_approval_required(request: Request) -> bool:
    settings: Settings = request.app.state.settings
    return settings.report_approval


@router.get("/incidents/{incident_id}/reports")
def list_reports(incident_id: UUID, db: DbDep, actor: CurrentActor) -> list[ReportSummary]:
    """List the reports of an incident, the newest first."""
    authorize(actor, "report.read")
    incident = journal.get_incident(db, actor, incident_id)
    return responses.build_summaries(db, queries.list_reports(db, incident.id))


@router.post("/incidents/{incident_id}/reports", status_code=201, response_model=ReportResponse)
def create_report(  # noqa: PLR0917
    incident_id: UUID, body: ReportCreate, request: Request, db: DbDep, actor: CurrentActor, once: Once
) -> ReportResponse | JSONResponse:
    """Create a draft from the data of the incident."""

    def make() -> ReportResponse:
        report = service.create_report(db, actor, incident_id, body)
        return responses.build_report(db, actor, report, needs_approval=_is_approval_required(request))

    return once(body, make)


@router.get("/reports/{report_id}")
def get_report(report_id: UUID, request: Request, db: DbDep, actor: CurrentActor) -> ReportResponse:
    """Return a draft with its frozen versions and share links."""
    report = service.get_report(db, actor, report_id)
    return responses.build_report(db, actor, report, needs_approval=_is_approval_required(request))


@router.patch("/reports/{report_id}")
def update_report(
    report_id: UUID, body: ReportUpdate, request: Request, db: DbDep, actor: CurrentActor
) -> ReportResponse:
    """Update the draft; frozen versions do not change."""
    item = service.update_report(db, actor, report_id, body)
    return responses.build_report(db, actor, item, needs_approval=_is_approval_required(request))


@router.get("/reports/{report_id}/preview")
def preview_report(report_id: UUID, db: DbDep, actor: CurrentActor, store: StoreDep) -> ReportPreviewResponse:
    """Preview the redacted content and its replacements."""
    report = service.get_report(db, actor, report_id)
    _, reported = freeze.preview_redaction(db, actor, store, report)
    return ReportPreviewResponse(**reported)


@router.get("/reports/{report_id}/preview/page", response_class=Response)
def preview_page(report_id: UUID, db: DbDep, actor: CurrentActor, store: StoreDep) -> Response:
    """Return the page in its current redacted form."""
    report = service.get_report(db, actor, report_id)
    result, _ = freeze.preview_redaction(db, actor, store, report)
    return pages.build_page(result.content, freeze.compute_digest(result.text), None)


@router.post("/reports/{report_id}/versions", status_code=201, response_model=VersionResponse)
def freeze_report(  # noqa: PLR0917
    report_id: UUID, body: VersionRequest, db: DbDep, actor: CurrentActor, store: StoreDep, once: Once
) -> VersionResponse | JSONResponse:
    """Freeze the redacted report with its SHA-256."""
    return once(
        body, lambda: responses.build_version(db, service.freeze_now(db, actor, store, report_id, body))
    )


@router.get("/report-versions/{version_id}")
def get_version(version_id: UUID, db: DbDep, actor: CurrentActor) -> VersionResponse:
    """Return a frozen version."""
    return responses.build_version(db, shares.get_version(db, actor, version_id))


@router.get("/report-versions/{version_id}/file", response_class=Response)
def get_version_file(version_id: UUID, db: DbDep, actor: CurrentActor, form: Form = "html") -> Response:
    """Return a frozen version as a self-contained HTML file, as Markdown or as the frozen JSON."""
    return pages.build_file(shares.get_version(db, actor, version_id), form)


@router.get("/report-versions/{version_id}/names")
def get_names(version_id: UUID, db: DbDep, actor: CurrentActor) -> ReportNamesResponse:
    """Return the private map of a version: {kind: {original: pseudonym}}."""
    authorize(actor, "report.names")
    return pseudonym_map.open_names(shares.get_version(db, actor, version_id), get_vault())


@router.post("/report-versions/{version_id}/approve")
def approve_version(version_id: UUID, db: DbDep, actor: CurrentActor) -> VersionResponse:
    """Approve a version as a second person."""
    return responses.build_version(db, shares.approve_version(db, actor, version_id))


@router.post("/report-versions/{version_id}/shares", status_code=201, response_model=ShareResponse)
def share_version(  # noqa: PLR0917
    version_id: UUID, body: ShareCreate, request: Request, db: DbDep, actor: CurrentActor, once: Once
) -> ShareResponse | JSONResponse:
    """Create a link for readers without an account; the response contains its URL only once."""
    settings: Settings = request.app.state.settings

    def make() -> ShareResponse:
        item, token = shares.create_share(
            db, actor, version_id, body, needs_approval=settings.report_approval
        )
        number = shares.get_version(db, actor, version_id).number
        url = f"{settings.public_url.rstrip('/')}{pages.PREFIX}/{token}"
        return responses.build_share(item, number, load_user_names(db, [item.created_by]), url=url)

    return once(body, make, secret=True)


@router.get("/report-shares/{share_id}/visits")
def list_visits(share_id: UUID, db: DbDep, actor: CurrentActor) -> list[VisitResponse]:
    """List visits of a link, the newest first, at most 1,000."""
    authorize(actor, "report.share")
    share = shares.find_share_by_token(db, actor, share_id)
    return [
        VisitResponse(at=each.at, address=each.address, agent=each.agent, form=each.form)
        for each in queries.list_visits(db, share.id)
    ]


@router.delete("/report-shares/{share_id}", status_code=204)
def revoke_share(share_id: UUID, db: DbDep, actor: CurrentActor) -> None:
    """Revoke a link."""
    shares.revoke_share(db, actor, share_id)
