"""What changed on a host since some time: the same facts at two readings, and what its own logs tell."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.context import queries
from culprit.context.schemas import FactChange, FactChanges, FactSeen, HostRef, LoggedChange
from culprit.kit.clock import now_ns
from culprit.kit.errors import Invalid, NotFound

MOST = 500
DAY_NS = 24 * 3600 * 1_000_000_000
USUAL_DAYS = 30


def of_host(
    session: Session, actor: Actor, host_id: UUID, *, since_ns: int | None, until_ns: int | None
) -> FactChanges:
    """Changes that were found between two times, the newest first. Raises NotFound, Invalid."""
    policy(actor, "host.read")
    host = queries.host(session, actor, host_id)
    if host is None:
        raise NotFound("host.not_found")
    end = until_ns if until_ns is not None else now_ns()
    begin = since_ns if since_ns is not None else max(0, end - USUAL_DAYS * DAY_NS)
    if begin >= end:
        raise Invalid("timeline.empty_range", from_ns=begin, to_ns=end)
    first_ns, last_ns, facts = queries.facts_known(session, host.id)
    changes, total = queries.fact_changes(session, host.id, begin, end, MOST)
    logged, logged_total = queries.logged_changes(session, host.id, begin, end, MOST)
    return FactChanges(
        host=HostRef(id=host.id, name=host.name),
        since_ns=begin,
        until_ns=end,
        first_ns=first_ns,
        last_ns=last_ns,
        facts=facts,
        changes=[
            FactChange(
                source=one.source,
                name=one.name,
                before=FactSeen(
                    value=one.before_value,
                    at_ns=one.before_ns,
                    run_id=one.before_run_id,
                    artifact_id=one.before_artifact_id,
                    line=one.before_line,
                ),
                after=FactSeen(
                    value=one.value,
                    at_ns=one.since_ns,
                    run_id=one.first_run_id,
                    artifact_id=one.first_artifact_id,
                    line=one.first_line,
                ),
            )
            for one in changes
        ],
        changes_total=total,
        logged=[
            LoggedChange(
                id=one.id,
                kind=one.kind,
                title=one.title,
                detail=one.detail,
                t_ns=one.t_ns,
                run_id=one.run_id,
                artifact_id=one.artifact_id,
                line=one.line,
            )
            for one in logged
        ],
        logged_total=logged_total,
    )
