"""Share links of frozen reports: approval by a second person, access by token, and a record of visits."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.accounts.tokens import generate_token, hash_token
from culprit.incidents.reports import freeze, queries
from culprit.incidents.reports.requests import ShareCreate
from culprit.infra.db.clock import utc_now
from culprit.infra.models.reports.report_share import ReportShare
from culprit.infra.models.reports.report_version import ReportVersion
from culprit.infra.models.reports.report_visit import ReportVisit
from culprit.web.errors import ConflictError, ForbiddenError, NotFoundError

TOKEN_LENGTH = 43
"""Length of a token: 256 bits in URL-safe base64. Tokens of another length are not looked up."""

MAX_AGENT = 300


def get_version(session: Session, actor: Actor, version_id: UUID, *, lock: bool = False) -> ReportVersion:
    """Return a frozen version visible to the actor, or raise NotFoundError."""
    authorize(actor, "report.read")
    version = queries.find_version(session, actor, version_id, lock=lock)
    if version is None:
        raise NotFoundError("report.version_not_found")
    return version


def approve_version(session: Session, actor: Actor, version_id: UUID) -> ReportVersion:
    """Approve a version as a second person. Raises ForbiddenError for the person who froze it."""
    authorize(actor, "report.approve")
    version = get_version(session, actor, version_id, lock=True)
    if version.created_by == actor.id:
        raise ForbiddenError("report.approve_other")
    if version.approved_at is not None:
        raise ConflictError("report.approved_already")
    freeze.open_content(version)
    version.approved_by, version.approved_at = actor.id, utc_now()
    session.flush()
    audit.record_action(session, actor, "report.approve", "report_version", version.id, sha256=version.sha256)
    return version


def create_share(
    session: Session, actor: Actor, version_id: UUID, body: ShareCreate, *, needs_approval: bool
) -> tuple[ReportShare, str]:
    """Create a link with its token, which is returned once. Raises ConflictError without an approval."""
    authorize(actor, "report.share")
    of = get_version(session, actor, version_id, lock=True)
    if needs_approval and of.approved_at is None:
        raise ConflictError("report.not_approved")
    freeze.open_content(of)
    token = generate_token()
    report_share = ReportShare(
        version_id=of.id,
        token_hash=hash_token(token),
        note=body.note,
        expires_at=utc_now() + timedelta(days=body.days),
        created_by=actor.id,
    )
    session.add(report_share)
    session.flush()
    audit.record_action(
        session,
        actor,
        "report.share",
        "report_share",
        report_share.id,
        version=str(of.id),
        days=body.days,
        note=body.note,
    )
    return report_share, token


def find_share_by_token(session: Session, actor: Actor, share_id: UUID, *, lock: bool = False) -> ReportShare:
    """Return a link to a version visible to the actor, or raise NotFoundError."""
    share = queries.find_share(session, share_id, lock=lock)
    if share is None or queries.find_version(session, actor, share.version_id) is None:
        raise NotFoundError("report.share_not_found")
    return share


def revoke_share(session: Session, actor: Actor, share_id: UUID) -> ReportShare:
    """Revoke a link immediately."""
    authorize(actor, "report.share")
    share = find_share_by_token(session, actor, share_id, lock=True)
    if share.revoked_at is None:
        share.revoked_at = utc_now()
        session.flush()
        audit.record_action(session, actor, "report.revoke", "report_share", share.id)
    return share


def record_visit(
    session: Session, token: str, address: str, agent: str, form: str
) -> tuple[ReportShare, ReportVersion] | None:
    """Return the version of a token and record the visit; None if the link is not open."""
    if len(token) != TOKEN_LENGTH or not token.isascii():
        return None
    open_share = queries.find_open_share(session, hash_token(token))
    if open_share is not None:
        visit = ReportVisit(
            share_id=open_share[0].id,
            address=address[:100],
            agent=agent[:MAX_AGENT].replace("\0", "\N{REPLACEMENT CHARACTER}"),
            form=form,
        )
        session.add(visit)
        session.flush()
    return open_share
