"""Lock versions of incidents, append journal entries, and publish changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import literal, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize, require_covered
from culprit.incidents.records import queries
from culprit.infra.db.clock import utc_now
from culprit.infra.db.unit_of_work import after_commit
from culprit.infra.event_stream import get_event_publisher
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_participant import IncidentParticipant
from culprit.infra.models.incidents.journal_entry import JournalEntry
from culprit.web.errors import ConflictError, NotFoundError

Param = str | int | float
CULPRIT = "Culprit"
MAX_ENTRIES = 100
#: Kinds of entries that do not conflict with a change of a user.
NON_CONFLICTING_KINDS = frozenset(
    {
        "alert_joined",
        "alert_opened",
        "steps_answered",
        "watcher_created",
        "watcher_captured",
        "comment_added",
        "comment_edited",
        "comment_withdrawn",
        "diagnosis_completed",
        "diagnosis_inconclusive",
        "diagnosis_failed",
        "diagnosis_started",
        "kill_switch_deactivated",
        "kill_switch_activated",
    }
)


def get_incident(session: Session, actor: Actor, incident_id: UUID) -> Incident:
    """Return an incident that is visible to this actor, or raise NotFoundError."""
    authorize(actor, "incident.read")
    incident = queries.find_incident(session, actor, incident_id)
    if incident is None:
        raise NotFoundError("incident.not_found")
    return incident


def lock_version(
    session: Session, actor: Actor, incident_id: UUID, version: int, action: str = "incident.edit"
) -> Incident:
    """Lock the incident for a change that is based on a version of it.

    Entries of NON_CONFLICTING_KINDS after that version, such as answers of captures, are no conflict.

    Raises:
        NotFoundError, ForbiddenError: The actor cannot see or change the incident.
        ConflictError: Another user changed the incident after that version.
    """
    authorize(actor, action)
    incident = queries.find_incident(session, actor, incident_id, lock=True)
    if incident is None:
        raise NotFoundError("incident.not_found")
    require_covering_scope(session, actor, incident)
    if incident.version != version:
        since = queries.list_entries(session, incident.id, version, MAX_ENTRIES)
        if (
            version > incident.version
            or len(since) == MAX_ENTRIES
            or any(each.kind not in NON_CONFLICTING_KINDS for each in since)
        ):
            raise _build_conflict(session, incident, since)
    return incident


def require_covering_scope(session: Session, actor: Actor, incident: Incident) -> None:
    """Raise ForbiddenError if the incident has hosts outside the label scope of the actor."""
    require_covered(actor, covered=not queries.has_hidden_host(session, actor, incident.id))


def _build_conflict(session: Session, incident: Incident, since: Sequence[JournalEntry]) -> ConflictError:
    names = queries.load_user_names(session, (item.by for item in since))
    who = dict.fromkeys(names.get(item.by, CULPRIT) if item.by else CULPRIT for item in since)
    return ConflictError(
        "incident.changed",
        version=incident.version,
        who=", ".join(who) or CULPRIT,
        what=", ".join(dict.fromkeys(item.kind for item in since)) or "-",
    )


def append_entry(
    session: Session,
    incident: Incident,
    actor: Actor | None,
    kind: str,
    *,
    note: str = "",
    more: Mapping[str, object] | None = None,
    **params: Param,
) -> JournalEntry:
    """Append a journal entry, increase the version and publish the change. The incident must be locked.

    `params` are the parameters of its message; `more` is stored with them as structured data.
    """
    incident.version += 1
    incident.updated_at = utc_now()
    by = actor.id if actor else None
    reported = {**params, **(more or {})}
    entry = JournalEntry(
        incident_id=incident.id, version=incident.version, kind=kind, params=reported, note=note, by=by
    )
    session.add(entry)
    if by is not None:
        add_participant(session, incident.id, by)
    session.flush()
    publish_change(session, incident.id)
    return entry


def add_participant(session: Session, incident_id: UUID, user_id: UUID) -> None:
    """Record that a user takes part now."""
    at = utc_now()
    row = insert(IncidentParticipant).values(
        incident_id=incident_id, user_id=user_id, joined_at=at, seen_at=at
    )
    keys = [IncidentParticipant.incident_id, IncidentParticipant.user_id]
    session.execute(row.on_conflict_do_update(index_elements=keys, set_={"seen_at": literal(at)}))


def touch_participant(session: Session, incident_id: UUID, user_id: UUID) -> bool:
    """Record that a participant has the incident open. Return False if the user does not take part yet."""
    changed = session.execute(
        update(IncidentParticipant)
        .where(IncidentParticipant.incident_id == incident_id, IncidentParticipant.user_id == user_id)
        .values(seen_at=utc_now())
        .returning(IncidentParticipant.user_id)
        .execution_options(synchronize_session=False)
    ).first()
    return changed is not None


def publish_change(session: Session, incident_id: UUID) -> None:
    """Notify open live streams after the commit."""
    after_commit(session, lambda: get_event_publisher().publish(incident_id, "incident", {}))
