"""Findings that are known, and how causes turned out: what is kept beyond one incident."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core.playbooks.refusals import MIN_REASON
from culprit.core.rules.registry import RULES
from culprit.incidents import journal, mute_queries, queries
from culprit.incidents.given import MuteAdd
from culprit.incidents.schemas import MuteRead, OutcomeRead
from culprit.incidents.schemas_chain import PersonRef
from culprit.kit.clock import now
from culprit.kit.errors import Invalid, NotFound
from culprit.models import FindingMute, Host

#: What is muted for longer is a threshold that should be set.
LONGEST = timedelta(days=90)


def listed(session: Session, actor: Actor, host: UUID | None, *, over: bool) -> list[MuteRead]:
    """The mutes on hosts that exist for this actor; with `over` those that have ended too."""
    policy(actor, "incident.read")
    rows = mute_queries.mutes(session, actor, host, None if over else now())
    names = queries.names(session, (row[0].by for row in rows))
    return [_read(row[0], row[1], names) for row in rows]


def _read(one: FindingMute, host: str, names: dict[UUID, str]) -> MuteRead:
    same = ("id", "host_id", "rule", "reason", "expires_at", "created_at")
    by = PersonRef(id=one.by, name=names[one.by]) if one.by in names and one.by else None
    values = {name: getattr(one, name) for name in same}
    return MuteRead(**values, host=host, by=by, active=one.expires_at > now())


def add(session: Session, actor: Actor, wanted: MuteAdd) -> MuteRead:
    """Mutes a rule on a host; one that is muted already is muted anew. Raises NotFound, Forbidden, Invalid."""
    policy(actor, "mute.manage")
    host = queries.visible_hosts(session, actor, [wanted.host_id]).get(wanted.host_id)
    if host is None:
        raise NotFound("host.not_found")
    if wanted.rule not in RULES:
        raise Invalid("playbook.no_rule", id=wanted.rule)
    reason = wanted.reason.strip()
    if len(reason) < MIN_REASON:
        raise Invalid("mute.needs_reason")
    if not now() < wanted.expires_at <= now() + LONGEST:
        raise Invalid("mute.expires_within", days=LONGEST.days)
    for known in mute_queries.held(session, host.id, wanted.rule, now()):
        session.delete(known)
    one = FindingMute(
        host_id=host.id, rule=wanted.rule, reason=reason, expires_at=wanted.expires_at, by=actor.id
    )
    session.add(one)
    session.flush()
    _tell(session, actor, host, one, "muted")
    audit.record(
        session,
        actor,
        "mute.set",
        "mute",
        one.id,
        host=host.name,
        rule=one.rule,
        reason=reason,
        expires_at=one.expires_at.isoformat(),
    )
    return _read(one, host.name, {actor.id: actor.name})


def _tell(session: Session, actor: Actor, host: Host, one: FindingMute, kind: str) -> None:
    """Open incidents of that host are told: what their steps say may be otherwise now."""
    for incident in mute_queries.open_incidents(session, host.id):
        journal.enter(
            session,
            incident,
            actor,
            kind,
            note=one.reason if kind == "muted" else "",
            rule=one.rule,
            host=host.name,
            host_id=str(host.id),
        )


def remove(session: Session, actor: Actor, mute_id: UUID) -> None:
    """It counts again. Raises NotFound, Forbidden."""
    policy(actor, "mute.manage")
    one = mute_queries.mute(session, actor, mute_id)
    if one is None:
        raise NotFound("mute.not_found")
    if one.expires_at > now():
        _tell(session, actor, session.get_one(Host, one.host_id), one, "unmuted")
    audit.record(session, actor, "mute.unset", "mute", one.id, rule=one.rule, reason=one.reason)
    session.delete(one)


def outcomes(session: Session, actor: Actor) -> list[OutcomeRead]:
    """How often each cause was named rightly and wrongly, and what it was instead."""
    policy(actor, "incident.read")
    right: dict[str, int] = defaultdict(int)
    wrong: dict[str, int] = defaultdict(int)
    instead: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in mute_queries.outcome_counts(session):
        (right if row.right else wrong)[row.cause] += row[3]
        if row.true_cause is not None:
            instead[row.cause][row.true_cause] += row[3]
    return [
        OutcomeRead(cause=one, right=right[one], wrong=wrong[one], instead=dict(instead[one]))
        for one in sorted({*right, *wrong})
    ]
