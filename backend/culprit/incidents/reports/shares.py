"""Links to frozen reports: a second person approves, a token opens, and everything about it can be looked up."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.auth.tokens import new_token, token_hash
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Forbidden, NotFound
from culprit.models import ReportShare, ReportVersion, ReportVisit
from culprit.reports import freeze, queries
from culprit.reports.given import ShareCreate

TOKEN_LENGTH = 43
"""Characters of 256 bits in URL-safe base64; nothing else is looked up."""

MAX_AGENT = 300


def version(session: Session, actor: Actor, version_id: UUID, *, lock: bool = False) -> ReportVersion:
    """A frozen version that exists for this actor. Raises NotFound."""
    policy(actor, "report.read")
    one = queries.version(session, actor, version_id, lock=lock)
    if one is None:
        raise NotFound("report.version_not_found")
    return one


def approve(session: Session, actor: Actor, version_id: UUID) -> ReportVersion:
    """A second person has read it and lets it go out. Raises Forbidden for the one who froze it."""
    policy(actor, "report.approve")
    one = version(session, actor, version_id, lock=True)
    if one.created_by == actor.id:
        raise Forbidden("report.approve_other")
    if one.approved_at is not None:
        raise Conflict("report.approved_already")
    freeze.opened(one)
    one.approved_by, one.approved_at = actor.id, now()
    session.flush()
    audit.record(session, actor, "report.approve", "report_version", one.id, sha256=one.sha256)
    return one


def share(
    session: Session, actor: Actor, version_id: UUID, body: ShareCreate, *, needs_approval: bool
) -> tuple[ReportShare, str]:
    """A new link with its token, which is told once. Raises Conflict where nobody approved of the version."""
    policy(actor, "report.share")
    of = version(session, actor, version_id, lock=True)
    if needs_approval and of.approved_at is None:
        raise Conflict("report.not_approved")
    freeze.opened(of)
    token = new_token()
    one = ReportShare(
        version_id=of.id,
        token_hash=token_hash(token),
        note=body.note,
        expires_at=now() + timedelta(days=body.days),
        created_by=actor.id,
    )
    session.add(one)
    session.flush()
    audit.record(
        session,
        actor,
        "report.share",
        "report_share",
        one.id,
        version=str(of.id),
        days=body.days,
        note=body.note,
    )
    return one, token


def known(session: Session, actor: Actor, share_id: UUID, *, lock: bool = False) -> ReportShare:
    """A link to a version that exists for this actor. Raises NotFound."""
    one = queries.share(session, share_id, lock=lock)
    if one is None or queries.version(session, actor, one.version_id) is None:
        raise NotFound("report.share_not_found")
    return one


def revoke(session: Session, actor: Actor, share_id: UUID) -> ReportShare:
    """It opens nothing any more, from now on."""
    policy(actor, "report.share")
    one = known(session, actor, share_id, lock=True)
    if one.revoked_at is None:
        one.revoked_at = now()
        session.flush()
        audit.record(session, actor, "report.revoke", "report_share", one.id)
    return one


def enter(
    session: Session, token: str, address: str, agent: str, form: str
) -> tuple[ReportShare, ReportVersion] | None:
    """What a token opens now, and the visit noted; None for everything that is no open link."""
    if len(token) != TOKEN_LENGTH or not token.isascii():
        return None
    found = queries.open_share(session, token_hash(token))
    if found is not None:
        visit = ReportVisit(
            share_id=found[0].id,
            address=address[:100],
            agent=agent[:MAX_AGENT].replace("\0", "\N{REPLACEMENT CHARACTER}"),
            form=form,
        )
        session.add(visit)
        session.flush()
    return found
