"""Reports over HTTP, for people with an account."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.auth.policy import policy
from culprit.captures.endpoints import Store
from culprit.config import Settings
from culprit.incidents import journal
from culprit.incidents.queries import names
from culprit.infra.db import Db
from culprit.infra.secrets import vault
from culprit.reports import freeze, pages, private_map, queries, read, service, shares
from culprit.reports.given import Form, ReportCreate, ReportPatch, ShareCreate, Which
from culprit.reports.schemas import (
    ReportPreviewRead,
    ReportRead,
    ReportSummary,
    ShareRead,
    VersionRead,
    VisitRead,
)

router = APIRouter(tags=["reports"])
NamesRead = dict[str, dict[str, Annotated[str, Field(description="The pseudonym of an original")]]]


def _approval(request: Request) -> bool:
    settings: Settings = request.app.state.settings
    return settings.report_approval


@router.get("/incidents/{incident_id}/reports")
def list_reports(incident_id: UUID, db: Db, actor: CurrentActor) -> list[ReportSummary]:
    """The reports of an incident, the newest first."""
    policy(actor, "report.read")
    incident = journal.found(db, actor, incident_id)
    return read.summaries(db, queries.reports(db, incident.id))


@router.post("/incidents/{incident_id}/reports", status_code=201, response_model=ReportRead)
def create_report(  # noqa: PLR0917
    incident_id: UUID, body: ReportCreate, request: Request, db: Db, actor: CurrentActor, once: Once
) -> ReportRead | JSONResponse:
    """A draft, with what the incident already knows."""

    def make() -> ReportRead:
        one = service.create(db, actor, incident_id, body)
        return read.report(db, actor, one, needs_approval=_approval(request))

    return once(body, make)


@router.get("/reports/{report_id}")
def get_report(report_id: UUID, request: Request, db: Db, actor: CurrentActor) -> ReportRead:
    """A draft, its frozen versions and the links to them."""
    one = service.found(db, actor, report_id)
    return read.report(db, actor, one, needs_approval=_approval(request))


@router.patch("/reports/{report_id}")
def change_report(
    report_id: UUID, body: ReportPatch, request: Request, db: Db, actor: CurrentActor
) -> ReportRead:
    """The draft is written on; frozen versions stay as they are."""
    one = service.patch(db, actor, report_id, body)
    return read.report(db, actor, one, needs_approval=_approval(request))


@router.get("/reports/{report_id}/preview")
def preview_report(report_id: UUID, db: Db, actor: CurrentActor, store: Store) -> ReportPreviewRead:
    """What would leave now, and what was replaced in it by what."""
    one = service.found(db, actor, report_id)
    _, told = freeze.look(db, actor, store, one)
    return ReportPreviewRead(**told)


@router.get("/reports/{report_id}/preview/page", response_class=Response)
def preview_page(report_id: UUID, db: Db, actor: CurrentActor, store: Store) -> Response:
    """The page that would leave now."""
    one = service.found(db, actor, report_id)
    made, _ = freeze.look(db, actor, store, one)
    return pages.page(made.content, freeze.digest(made.text), None)


@router.post("/reports/{report_id}/versions", status_code=201, response_model=VersionRead)
def freeze_report(  # noqa: PLR0917
    report_id: UUID, body: Which, db: Db, actor: CurrentActor, store: Store, once: Once
) -> VersionRead | JSONResponse:
    """Freezes what the draft and the incident say now, redacted, with its SHA-256."""
    return once(body, lambda: read.version(db, service.freeze_now(db, actor, store, report_id, body)))


@router.get("/report-versions/{version_id}")
def get_version(version_id: UUID, db: Db, actor: CurrentActor) -> VersionRead:
    """A frozen version, as it leaves."""
    return read.version(db, shares.version(db, actor, version_id))


@router.get("/report-versions/{version_id}/file", response_class=Response)
def get_version_file(version_id: UUID, db: Db, actor: CurrentActor, form: Form = "html") -> Response:
    """A frozen version as one file that needs nothing but itself, as Markdown, or as the JSON that was frozen."""
    return pages.file(shares.version(db, actor, version_id), form)


@router.get("/report-versions/{version_id}/names")
def get_names(version_id: UUID, db: Db, actor: CurrentActor) -> NamesRead:
    """The private map of a version: {kind: {original: pseudonym}}."""
    policy(actor, "report.names")
    return private_map.opened(shares.version(db, actor, version_id), vault())


@router.post("/report-versions/{version_id}/approve")
def approve_version(version_id: UUID, db: Db, actor: CurrentActor) -> VersionRead:
    """A second person lets it go out."""
    return read.version(db, shares.approve(db, actor, version_id))


@router.post("/report-versions/{version_id}/shares", status_code=201, response_model=ShareRead)
def share_version(  # noqa: PLR0917
    version_id: UUID, body: ShareCreate, request: Request, db: Db, actor: CurrentActor, once: Once
) -> ShareRead | JSONResponse:
    """A link for people without an account; its address is told this once."""
    settings: Settings = request.app.state.settings

    def make() -> ShareRead:
        one, token = shares.share(db, actor, version_id, body, needs_approval=settings.report_approval)
        number = shares.version(db, actor, version_id).number
        url = f"{settings.public_url.rstrip('/')}{pages.PREFIX}/{token}"
        return read.share(one, number, names(db, [one.created_by]), url=url)

    return once(body, make, secret=True)


@router.get("/report-shares/{share_id}/visits")
def list_visits(share_id: UUID, db: Db, actor: CurrentActor) -> list[VisitRead]:
    """Who opened a link, the newest first, at most a thousand."""
    policy(actor, "report.share")
    one = shares.known(db, actor, share_id)
    return [
        VisitRead(at=each.at, address=each.address, agent=each.agent, form=each.form)
        for each in queries.visits(db, one.id)
    ]


@router.delete("/report-shares/{share_id}", status_code=204)
def revoke_share(share_id: UUID, db: Db, actor: CurrentActor) -> None:
    """The link opens nothing any more."""
    shares.revoke(db, actor, share_id)
