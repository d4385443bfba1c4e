"""Manage mutes, and count cause outcomes over all incidents."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.playbooks.refusals import MIN_REASON
from culprit.domain.rules.registry import RULES
from culprit.incidents.mutes import queries as mute_queries
from culprit.incidents.records import journal, queries
from culprit.incidents.records.requests import MuteCreate
from culprit.incidents.responses.chain_schemas import PersonRef
from culprit.incidents.responses.schemas import CauseOutcomeResponse, MuteResponse
from culprit.infra.db.clock import utc_now
from culprit.infra.models.analysis.finding_mute import FindingMute
from culprit.infra.models.hosts.host import Host
from culprit.web.errors import InvalidRequestError, NotFoundError

#: Maximum length of a mute. For a longer time, override the threshold.
MAX_DURATION = timedelta(days=90)


def list_mutes(
    session: Session, actor: Actor, host: UUID | None, *, include_expired: bool
) -> list[MuteResponse]:
    """List the mutes on visible hosts; `include_expired`: expired ones too."""
    authorize(actor, "incident.read")
    rows = mute_queries.list_mutes(session, actor, host, None if include_expired else utc_now())
    names = queries.load_user_names(session, (row[0].by for row in rows))
    return [_build_response(row[0], row[1], names) for row in rows]


def _build_response(finding_mute: FindingMute, host: str, names: dict[UUID, str]) -> MuteResponse:
    same = ("id", "host_id", "rule", "reason", "expires_at", "created_at")
    by = (
        PersonRef(id=finding_mute.by, name=names[finding_mute.by])
        if finding_mute.by in names and finding_mute.by
        else None
    )
    values = {name: getattr(finding_mute, name) for name in same}
    return MuteResponse(**values, host=host, by=by, active=finding_mute.expires_at > utc_now())


def create_mute(session: Session, actor: Actor, mute_create: MuteCreate) -> MuteResponse:
    """Mute a rule on a host; replaces an active mute of this rule.

    Raises NotFoundError, ForbiddenError, InvalidRequestError.
    """
    authorize(actor, "mute.manage")
    host = queries.find_visible_hosts(session, actor, [mute_create.host_id]).get(mute_create.host_id)
    if host is None:
        raise NotFoundError("host.not_found")
    if mute_create.rule not in RULES:
        raise InvalidRequestError("playbook.no_rule", id=mute_create.rule)
    reason = mute_create.reason.strip()
    if len(reason) < MIN_REASON:
        raise InvalidRequestError("mute.needs_reason")
    if not utc_now() < mute_create.expires_at <= utc_now() + MAX_DURATION:
        raise InvalidRequestError("mute.expires_within", days=MAX_DURATION.days)
    for known in mute_queries.list_active_mutes(session, host.id, mute_create.rule, utc_now()):
        session.delete(known)
    finding_mute = FindingMute(
        host_id=host.id, rule=mute_create.rule, reason=reason, expires_at=mute_create.expires_at, by=actor.id
    )
    session.add(finding_mute)
    session.flush()
    _append_entries(session, actor, host, finding_mute, "finding_muted")
    audit.record_action(
        session,
        actor,
        "mute.set",
        "mute",
        finding_mute.id,
        host=host.name,
        rule=finding_mute.rule,
        reason=reason,
        expires_at=finding_mute.expires_at.isoformat(),
    )
    return _build_response(finding_mute, host.name, {actor.id: actor.name})


def _append_entries(session: Session, actor: Actor, host: Host, finding_mute: FindingMute, kind: str) -> None:
    """Append an entry to the unresolved incidents of the host, because verdicts can change."""
    for incident in mute_queries.lock_open_incidents(session, host.id):
        journal.append_entry(
            session,
            incident,
            actor,
            kind,
            note=finding_mute.reason if kind == "finding_muted" else "",
            rule=finding_mute.rule,
            host=host.name,
            host_id=str(host.id),
        )


def delete_mute(session: Session, actor: Actor, mute_id: UUID) -> None:
    """Delete a mute. Raises NotFoundError, ForbiddenError."""
    authorize(actor, "mute.manage")
    mute = mute_queries.find_mute(session, actor, mute_id)
    if mute is None:
        raise NotFoundError("mute.not_found")
    if mute.expires_at > utc_now():
        _append_entries(session, actor, session.get_one(Host, mute.host_id), mute, "finding_unmuted")
    audit.record_action(session, actor, "mute.unset", "mute", mute.id, rule=mute.rule, reason=mute.reason)
    session.delete(mute)


def count_outcomes(session: Session, actor: Actor) -> list[CauseOutcomeResponse]:
    """Count how often each cause was right and wrong, and the correct causes."""
    authorize(actor, "incident.read")
    right: dict[str, int] = defaultdict(int)
    wrong: dict[str, int] = defaultdict(int)
    instead: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in mute_queries.count_outcomes(session):
        (right if row.right else wrong)[row.cause] += row[3]
        if row.true_cause is not None:
            instead[row.cause][row.true_cause] += row[3]
    return [
        CauseOutcomeResponse(cause=item, right=right[item], wrong=wrong[item], instead=dict(instead[item]))
        for item in sorted({*right, *wrong})
    ]
