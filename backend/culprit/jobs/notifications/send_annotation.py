"""Keeps annotations in Grafana as they should be: finds what changed, and the task `culprit.send_annotation`.

What should be there is computed from the rows themselves, so that nothing has to remember to tell; a row for each thing
and each Grafana holds what was wanted last. A try is counted before it begins. Before one is made it is looked for by a
tag of its own, as an earlier try may have arrived without us hearing of it: a thing is there once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from urllib.parse import urlencode
from uuid import UUID

import structlog
from sqlalchemy import func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from collectors.host_values import INT8_MAX, is_digits
from culprit.config import settings
from culprit.core.annotations import Annotation as Told
from culprit.infra.addresses import Rule
from culprit.infra.broker import announce
from culprit.infra.db import Database, database
from culprit.infra.outgoing import OutgoingError, Reply, Request, fetch, place_of
from culprit.infra.secrets import SecretUnreadable, vault
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.kit.uuid7 import uuid7
from culprit.models import Annotation as Event
from culprit.models import Capture, Channel, GrafanaAnnotation, Incident
from culprit.notices import leads, queries
from culprit.notices.drawn import SEND
from culprit.notices.leads import Lead
from culprit.workflows.annotations import Teller
from culprit.workflows.send_notice import ANSWER_BYTES, ANSWER_S, PAUSES_S, final

KIND = "grafana"
Method = Literal["GET", "POST", "PATCH", "DELETE"]
CHANGED_WITHIN = timedelta(days=1)
INCIDENT_KEY = len("incident:") + 36  # that much of a key is the incident's own
LOCK = 0x47524146
log = structlog.get_logger("culprit.annotate")


def survey(db: Database) -> int:
    """Bring the table up to date; returns how much is to be sent. One process at a time does it."""
    with unit_of_work(db.sessions) as session:
        if not session.scalar(select(func.pg_try_advisory_xact_lock(LOCK))):
            return 0
        channels = session.scalars(select(Channel).where(Channel.kind == KIND, Channel.enabled)).all()
        return sum(_bring(session, one) for one in channels)


def _bring(session: Session, channel: Channel) -> int:
    since = now() - CHANGED_WITHIN
    teller = Teller(session, None, channel.locale, settings().public_url)
    changed = select(Incident).where(Incident.updated_at > since)
    told = [
        *teller.captures(select(Capture).where(Capture.ended_at > since)),
        *teller.incidents(changed),
        *teller.events(select(Event).where(or_(Event.created_at > since, Event.changed_at > since))),
    ]
    wanted = {one.key: one for one in told}
    incidents = {key for key in wanted if key.startswith("incident:") and key.count(":") == 1}
    gone = select(Event.id).where(Event.withdrawn_at > since)
    withdrawn = [f"event:{one}" for one in session.scalars(gone)]
    known = or_(
        GrafanaAnnotation.key.in_(withdrawn),
        GrafanaAnnotation.key.in_(wanted),
        func.substr(GrafanaAnnotation.key, 1, INCIDENT_KEY).in_(incidents),
    )
    rows = session.scalars(select(GrafanaAnnotation).where(GrafanaAnnotation.channel_id == channel.id, known))
    have = {row.key: row for row in rows}
    rung: list[UUID] = []
    for key, one in wanted.items():
        row = have.get(key)
        if row is None or row.digest != one.digest or row.removed or _held(row):
            rung.append(_want(session, channel, one))
    for key, row in have.items():
        # A cause that is not likely any more, a fix that was never applied after all, an event that was withdrawn.
        if key not in wanted and not row.removed:
            row.removed, row.state, row.tries, row.not_before = True, "queued", 0, now()
            rung.append(row.id)
    for one_id in rung:
        announce(session, SEND, one_id)
    return len(rung)


def _held(row: GrafanaAnnotation) -> bool:
    """Whether it only died because the channel was turned off, which it is not any more."""
    return row.state == "dead" and (row.failure or {}).get("key") == "channel.disabled"


def _want(session: Session, channel: Channel, one: Told) -> UUID:
    fresh = {"wanted": one.body(), "digest": one.digest, "removed": False, "state": "queued", "tries": 0,
             "not_before": now(), "failure": None}  # fmt: skip
    row = insert(GrafanaAnnotation).values(
        id=uuid7(), channel_id=channel.id, key=one.key, created_at=now(), **fresh
    )
    upsert = row.on_conflict_do_update(
        index_elements=[GrafanaAnnotation.channel_id, GrafanaAnnotation.key], set_=fresh
    )
    return session.execute(upsert.returning(GrafanaAnnotation.id)).scalar_one()


@dataclass(frozen=True, slots=True)
class _Try:
    """Everything that a try needs, read before the network is waited for. Holds a secret."""

    row_id: UUID
    told: Told
    digest: str
    removed: bool
    grafana_id: int | None
    number: int
    lead: Lead
    rules: tuple[Rule, ...]


def send_annotation(row_id: UUID) -> str | None:
    """Try once. Returns the state that it is left in; None where it is not its time."""
    with unit_of_work(database().sessions) as session:
        found = _begin(session, row_id)
        if found is None or isinstance(found, str):
            return found
    try:
        number = _deliver(found)
    except OutgoingError as error:
        return _failed(found, error)
    return _arrived(found, number)


def _begin(session: Session, row_id: UUID) -> _Try | str | None:
    row = session.scalar(
        select(GrafanaAnnotation)
        .where(
            GrafanaAnnotation.id == row_id,
            GrafanaAnnotation.state == "queued",
            GrafanaAnnotation.not_before <= func.clock_timestamp(),
        )
        .with_for_update(skip_locked=True)
    )
    if row is None:
        return None
    channel = session.get_one(Channel, row.channel_id)
    why = None if channel.enabled else "channel.disabled"
    try:
        lead = leads.opened(channel, vault())
    except SecretUnreadable:
        why = "channel.unreadable"
    if why is not None:
        row.state, row.failure = "dead", {"key": why, "params": {"name": channel.name}}
        return "dead"
    pause = PAUSES_S[min(row.tries, len(PAUSES_S) - 1)]
    row.tries += 1
    row.not_before = func.clock_timestamp() + timedelta(seconds=max(pause, 3 * ANSWER_S))
    session.flush()
    told = Told.of(row.key, row.wanted)
    return _Try(
        row.id, told, row.digest, row.removed, row.grafana_id, row.tries, lead, queries.rules(session)
    )


def _deliver(one: _Try) -> int | None:
    """Its number in Grafana afterwards; None where it is not there any more. Raises OutgoingError."""
    known = one.grafana_id
    if known is None:
        known = _look(one)
    if one.removed:
        if known is not None:
            _ask(one, "DELETE", f"/api/annotations/{known}", None, missing=True)
        return None
    if known is not None:
        answer = _ask(one, "PATCH", f"/api/annotations/{known}", one.told.body(), missing=True)
        if answer.status != 404:
            return known
    return _number_in(one, _ask(one, "POST", "/api/annotations", one.told.body()), "id")


def _look(one: _Try) -> int | None:
    """The number of the annotation that carries this one's own tag."""
    asked = urlencode({"tags": one.told.mark, "type": "annotation", "limit": 1})
    reply = _ask(one, "GET", f"/api/annotations?{asked}", None)
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise OutgoingError("garbled", host=place_of(one.lead.url).host, port=place_of(one.lead.url).port)
    if not found or not isinstance(found[0], dict) or "id" not in found[0]:
        return None
    return _number(one, found[0]["id"])


def _number_in(one: _Try, reply: Reply, name: str) -> int:
    try:
        value = json.loads(reply.body)[name]
    except (ValueError, TypeError, LookupError, RecursionError):
        value = None
    return _number(one, value)


def _number(one: _Try, value: object) -> int:
    """Return the number of an annotation as the server sent it; raise OutgoingError where no column holds it."""
    text = str(value) if isinstance(value, int | str) else ""
    if not is_digits(text) or int(text) > INT8_MAX:
        place = place_of(one.lead.url)
        raise OutgoingError("garbled", host=place.host, port=place.port)
    return int(text)


def _ask(
    one: _Try, method: Method, path: str, body: dict[str, Any] | None, *, missing: bool = False
) -> Reply:
    place = place_of(one.lead.url)
    headers = {"Authorization": f"Bearer {one.lead.secret}", "User-Agent": "culprit"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    sent = None if body is None else json.dumps(body, ensure_ascii=False).encode()
    request = Request(place, place.path + path, headers, sent, method)
    reply = fetch(request, one.rules, total_s=ANSWER_S, limit=ANSWER_BYTES)
    if not 200 <= reply.status < 300 and not (missing and reply.status == 404):
        raise OutgoingError("status", host=place.host, status=reply.status)
    return reply


def _arrived(one: _Try, number: int | None) -> str:
    """What is wanted may have changed meanwhile: then it stays in the queue, with the number that it has there now."""
    state = "gone" if one.removed else "sent"
    values: dict[str, Any] = {"state": state, "failure": None, "sent_at": func.clock_timestamp()}
    with unit_of_work(database().sessions) as session:
        _set(session, one, {"grafana_id": number})
        same = (
            GrafanaAnnotation.digest == one.digest,
            GrafanaAnnotation.removed.is_(one.removed),
            GrafanaAnnotation.tries == one.number,
        )
        done = session.execute(
            update(GrafanaAnnotation)
            .where(GrafanaAnnotation.id == one.row_id, *same)
            .values(**values)
            .returning(GrafanaAnnotation.id)
        ).first()
        if done is None:
            _set(session, one, {"not_before": func.clock_timestamp()})
    return state if done is not None else "queued"


def _failed(one: _Try, error: OutgoingError) -> str:
    pause = PAUSES_S[min(one.number - 1, len(PAUSES_S) - 1)]
    values: dict[str, Any] = {
        "failure": error.sentence,
        "not_before": func.clock_timestamp() + timedelta(seconds=pause),
    }
    if final(error) or one.number > len(PAUSES_S):
        values["state"] = "dead"
    log.info("annotation_failed", annotation=str(one.row_id), tries=one.number, kind=error.kind)
    with unit_of_work(database().sessions) as session:
        session.execute(
            update(GrafanaAnnotation)
            .where(
                GrafanaAnnotation.id == one.row_id,
                GrafanaAnnotation.tries == one.number,
                GrafanaAnnotation.state == "queued",
            )
            .values(**values)
            .execution_options(synchronize_session=False)
        )
    return str(values.get("state", "queued"))


def _set(session: Session, one: _Try, values: dict[str, Any]) -> None:
    session.execute(
        update(GrafanaAnnotation)
        .where(GrafanaAnnotation.id == one.row_id)
        .values(**values)
        .execution_options(synchronize_session=False)
    )
