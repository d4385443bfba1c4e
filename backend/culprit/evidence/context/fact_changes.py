"""List what changed on a host: facts that differ between two readings, and changes that its logs report."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.evidence.context import queries
from culprit.evidence.context.schemas import (
    FactChangeResponse,
    FactReadingResponse,
    HostChangesResponse,
    LoggedChangeResponse,
)
from culprit.infra.db.clock import now_ns
from culprit.web.errors import InvalidRequestError, NotFoundError
from culprit.web.schemas import HostRef

MAX_CHANGES = 500
DAY_NS = 24 * 3600 * 1_000_000_000
DEFAULT_DAYS = 30


def list_changes(
    session: Session, actor: Actor, host_id: UUID, *, since_ns: int | None, until_ns: int | None
) -> HostChangesResponse:
    """Return the changes between two times, newest first.

    Raises:
        NotFoundError: the host does not exist for this actor.
        InvalidRequestError: the range is empty.
    """
    authorize(actor, "host.read")
    host = queries.find_host(session, actor, host_id)
    if host is None:
        raise NotFoundError("host.not_found")
    end = until_ns if until_ns is not None else now_ns()
    begin = since_ns if since_ns is not None else max(0, end - DEFAULT_DAYS * DAY_NS)
    if begin >= end:
        raise InvalidRequestError("timeline.empty_range", from_ns=begin, to_ns=end)
    first_ns, last_ns, facts = queries.find_fact_range(session, host.id)
    changes, total = queries.list_fact_changes(session, host.id, begin, end, MAX_CHANGES)
    logged, logged_total = queries.list_logged_changes(session, host.id, begin, end, MAX_CHANGES)
    return HostChangesResponse(
        host=HostRef(id=host.id, name=host.name),
        since_ns=begin,
        until_ns=end,
        first_ns=first_ns,
        last_ns=last_ns,
        facts=facts,
        changes=[
            FactChangeResponse(
                source=change.source,
                name=change.name,
                before=FactReadingResponse(
                    value=change.before_value,
                    at_ns=change.before_ns,
                    run_id=change.before_run_id,
                    artifact_id=change.before_artifact_id,
                    line=change.before_line,
                ),
                after=FactReadingResponse(
                    value=change.value,
                    at_ns=change.since_ns,
                    run_id=change.first_run_id,
                    artifact_id=change.first_artifact_id,
                    line=change.first_line,
                ),
            )
            for change in changes
        ],
        changes_total=total,
        logged=[
            LoggedChangeResponse(
                id=item.id,
                kind=item.kind,
                title=item.title,
                detail=item.detail,
                t_ns=item.t_ns,
                run_id=item.run_id,
                artifact_id=item.artifact_id,
                line=item.line,
            )
            for item in logged
        ],
        logged_total=logged_total,
    )
