"""Changes of incidents: who saw which version, what they did, and what is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import literal, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import policy, require_covered
from culprit.incidents import queries
from culprit.infra.progress import publisher
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, NotFound
from culprit.kit.unit_of_work import after_commit
from culprit.models import Incident, IncidentParticipant, JournalEntry

Param = str | int | float
CULPRIT = "Culprit"
MAX_TOLD = 100
#: What tells of evidence, and takes back nothing that anybody said.
NEWS = frozenset(
    {
        "alert_joined",
        "alert_opened",
        "answered",
        "armed",
        "armed_fired",
        "comment",
        "comment_edited",
        "comment_withdrawn",
        "diagnosed",
        "diagnosed_nothing",
        "diagnosis_failed",
        "kill_switch_lifted",
        "kill_switch_pulled",
    }
)


def found(session: Session, actor: Actor, incident_id: UUID) -> Incident:
    """An incident that exists for this actor. Raises NotFound."""
    policy(actor, "incident.read")
    one = queries.incident(session, actor, incident_id)
    if one is None:
        raise NotFound("incident.not_found")
    return one


def claim(
    session: Session, actor: Actor, incident_id: UUID, version: int, action: str = "incident.edit"
) -> Incident:
    """The incident, locked, as somebody may change it who saw that version. Raises NotFound, Forbidden, Conflict.

    What a capture answered meanwhile is news and no change: it takes nobody's words away.
    """
    policy(actor, action)
    one = queries.incident(session, actor, incident_id, lock=True)
    if one is None:
        raise NotFound("incident.not_found")
    require_covering_scope(session, actor, one)
    if one.version != version:
        since = queries.journal(session, one.id, version, MAX_TOLD)
        if version > one.version or len(since) == MAX_TOLD or any(each.kind not in NEWS for each in since):
            raise _stale(session, one, since)
    return one


def require_covering_scope(session: Session, actor: Actor, incident: Incident) -> None:
    """Raise Forbidden where the incident has hosts outside the actor's label scope: it is decided for all of them."""
    require_covered(actor, covered=not queries.has_hidden_host(session, actor, incident.id))


def _stale(session: Session, incident: Incident, since: Sequence[JournalEntry]) -> Conflict:
    names = queries.names(session, (one.by for one in since))
    who = dict.fromkeys(names.get(one.by, CULPRIT) if one.by else CULPRIT for one in since)
    return Conflict(
        "incident.changed",
        version=incident.version,
        who=", ".join(who) or CULPRIT,
        what=", ".join(dict.fromkeys(one.kind for one in since)) or "-",
    )


def enter(
    session: Session,
    incident: Incident,
    actor: Actor | None,
    kind: str,
    *,
    note: str = "",
    more: Mapping[str, object] | None = None,
    **params: Param,
) -> JournalEntry:
    """One change is told: the version grows, and whoever looks on is called. The incident must be locked.

    `params` fill its sentence; `more` is kept beside them for whoever wants to know exactly.
    """
    incident.version += 1
    incident.updated_at = now()
    by = actor.id if actor else None
    told = {**params, **(more or {})}
    entry = JournalEntry(
        incident_id=incident.id, version=incident.version, kind=kind, params=told, note=note, by=by
    )
    session.add(entry)
    if by is not None:
        join(session, incident.id, by)
    session.flush()
    ring(session, incident.id)
    return entry


def join(session: Session, incident_id: UUID, user_id: UUID) -> None:
    """Somebody takes part, now."""
    at = now()
    row = insert(IncidentParticipant).values(
        incident_id=incident_id, user_id=user_id, joined_at=at, seen_at=at
    )
    keys = [IncidentParticipant.incident_id, IncidentParticipant.user_id]
    session.execute(row.on_conflict_do_update(index_elements=keys, set_={"seen_at": literal(at)}))


def looked(session: Session, incident_id: UUID, user_id: UUID) -> bool:
    """Somebody who takes part has it open. False where they do not take part yet."""
    changed = session.execute(
        update(IncidentParticipant)
        .where(IncidentParticipant.incident_id == incident_id, IncidentParticipant.user_id == user_id)
        .values(seen_at=now())
        .returning(IncidentParticipant.user_id)
        .execution_options(synchronize_session=False)
    ).first()
    return changed is not None


def ring(session: Session, incident_id: UUID) -> None:
    """Calls whoever looks on, once this is committed."""
    after_commit(session, lambda: publisher().publish(incident_id, "incident", {}))
