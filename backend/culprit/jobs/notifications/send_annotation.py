"""The job that sends annotations to Grafana, and the search for changed ones.

The required annotations are computed from the rows of incidents and events; one row for each object and each
Grafana stores the last required state. An attempt is counted before it starts. Before an annotation is
created, it is searched by its own tag, because an earlier attempt may have succeeded without an answer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from urllib.parse import urlencode
from uuid import UUID

import structlog
from sqlalchemy import func, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from collectors.runner.host_values import INT8_MAX, is_digits
from culprit.accounts.queries.restrictions import load_network_rules
from culprit.domain.integrations.grafana import AnnotationContent
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database, get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.notifications.channel import Channel
from culprit.infra.models.notifications.grafana_annotation import GrafanaAnnotation
from culprit.infra.network.addresses import AddressRule
from culprit.infra.network.http_client import OutgoingError, Reply, Request, parse_base_url, send_request
from culprit.infra.settings import get_settings
from culprit.infra.task_queue import enqueue_after_commit
from culprit.infra.vault import SecretUnreadableError, get_vault
from culprit.integrations.grafana.annotation_builder import AnnotationBuilder
from culprit.jobs.job import Job
from culprit.jobs.notifications.locks import lock_due_annotation, try_annotation_lock
from culprit.jobs.notifications.queries import (
    list_annotations,
    list_channels_of_kind,
    list_withdrawn_event_ids,
    pending_annotations,
    select_changed_events,
    select_changed_incidents,
    select_ended_captures,
)
from culprit.jobs.notifications.send_notification import ANSWER_BYTES, ANSWER_S, PAUSES_S, is_permanent
from culprit.notifications import destinations
from culprit.notifications.destinations import Destination
from culprit.notifications.grafana_annotations import SEND_ANNOTATION

KIND = "grafana"
Method = Literal["GET", "POST", "PATCH", "DELETE"]
SYNC_WINDOW = timedelta(days=1)
INCIDENT_KEY = len("incident:") + 36  # prefix of keys of an incident's own annotation
log = structlog.get_logger("culprit.annotate")


def sync_annotations(db: Database) -> int:
    """Update the table and return the number of annotations to send. Only one process runs it at a time."""
    with unit_of_work(db.sessions) as session:
        if not try_annotation_lock(session):
            return 0
        channels = list_channels_of_kind(session, KIND)
        return sum(_sync_channel(session, channel) for channel in channels)


def _sync_channel(session: Session, channel: Channel) -> int:
    since = utc_now() - SYNC_WINDOW
    builder = AnnotationBuilder(session, None, channel.locale, get_settings().public_url)
    contents = [
        *builder.captures(select_ended_captures(since)),
        *builder.incidents(select_changed_incidents(since)),
        *builder.events(select_changed_events(since)),
    ]
    required = {item.key: item for item in contents}
    incidents = {key for key in required if key.startswith("incident:") and key.count(":") == 1}
    withdrawn = [f"event:{event_id}" for event_id in list_withdrawn_event_ids(session, since)]
    rows = list_annotations(session, channel.id, {*withdrawn, *required}, incidents, INCIDENT_KEY)
    stored = {row.key: row for row in rows}
    changed_ids: list[UUID] = []
    for key, item in required.items():
        row = stored.get(key)
        if row is None or row.digest != item.digest or row.is_deleted or _is_retryable(row):
            changed_ids.append(_upsert_annotation(session, channel, item))
    for key, row in stored.items():
        # A cause that is no longer likely, a fix that was not applied, a withdrawn event.
        if key not in required and not row.is_deleted:
            row.is_deleted, row.state, row.attempts, row.not_before = True, "queued", 0, utc_now()
            changed_ids.append(row.id)
    for annotation_id in changed_ids:
        enqueue_after_commit(session, SEND_ANNOTATION, annotation_id)
    return len(changed_ids)


def _is_retryable(row: GrafanaAnnotation) -> bool:
    """Return whether it failed only because the channel was disabled, and the channel is enabled now."""
    return row.state == "failed" and (row.failure or {}).get("key") == "channel.disabled"


def _upsert_annotation(session: Session, channel: Channel, item: AnnotationContent) -> UUID:
    fresh = {"body": item.body(), "digest": item.digest, "is_deleted": False, "state": "queued", "attempts": 0,
             "not_before": utc_now(), "failure": None}  # fmt: skip
    row = insert(GrafanaAnnotation).values(
        id=new_uuid7(), channel_id=channel.id, key=item.key, created_at=utc_now(), **fresh
    )
    upsert = row.on_conflict_do_update(
        index_elements=[GrafanaAnnotation.channel_id, GrafanaAnnotation.key], set_=fresh
    )
    return session.execute(upsert.returning(GrafanaAnnotation.id)).scalar_one()


@dataclass(frozen=True, slots=True)
class AnnotationAttempt:
    """Data of an attempt, read before the request. Contains a secret."""

    row_id: UUID
    content: AnnotationContent
    digest: str
    is_deleted: bool
    grafana_id: int | None
    number: int
    lead: Destination
    rules: tuple[AddressRule, ...]


def send_annotation(row_id: UUID) -> str | None:
    """Send one annotation once. Return the new state, or None if it is not due."""
    with unit_of_work(get_database().sessions) as session:
        attempt = _start_attempt(session, row_id)
        if attempt is None or isinstance(attempt, str):
            return attempt
    try:
        number = _deliver(attempt)
    except OutgoingError as error:
        return _record_failure(attempt, error)
    return _record_success(attempt, number)


def _start_attempt(session: Session, row_id: UUID) -> AnnotationAttempt | str | None:
    row = lock_due_annotation(session, row_id)
    if row is None:
        return None
    channel = session.get_one(Channel, row.channel_id)
    why = None if channel.enabled else "channel.disabled"
    try:
        lead = destinations.open_destination(channel, get_vault())
    except SecretUnreadableError:
        why = "channel.unreadable"
    if why is not None:
        row.state, row.failure = "failed", {"key": why, "params": {"name": channel.name}}
        return "failed"
    pause = PAUSES_S[min(row.attempts, len(PAUSES_S) - 1)]
    row.attempts += 1
    row.not_before = func.clock_timestamp() + timedelta(seconds=max(pause, 3 * ANSWER_S))
    session.flush()
    reported = AnnotationContent.from_stored(row.key, row.body)
    return AnnotationAttempt(
        row.id,
        reported,
        row.digest,
        row.is_deleted,
        row.grafana_id,
        row.attempts,
        lead,
        load_network_rules(session),
    )


def _deliver(annotation_attempt: AnnotationAttempt) -> int | None:
    """Return its ID in Grafana, or None if it was deleted. Raises OutgoingError."""
    known = annotation_attempt.grafana_id
    if known is None:
        known = _find_by_tag(annotation_attempt)
    if annotation_attempt.is_deleted:
        if known is not None:
            _send_to_grafana(annotation_attempt, "DELETE", f"/api/annotations/{known}", None, missing=True)
        return None
    if known is not None:
        answer = _send_to_grafana(
            annotation_attempt,
            "PATCH",
            f"/api/annotations/{known}",
            annotation_attempt.content.body(),
            missing=True,
        )
        if answer.status != 404:
            return known
    return _parse_id_field(
        annotation_attempt,
        _send_to_grafana(annotation_attempt, "POST", "/api/annotations", annotation_attempt.content.body()),
        "id",
    )


def _find_by_tag(annotation_attempt: AnnotationAttempt) -> int | None:
    """Return the ID of the annotation with this tag."""
    requested = urlencode({"tags": annotation_attempt.content.identity_tag, "type": "annotation", "limit": 1})
    reply = _send_to_grafana(annotation_attempt, "GET", f"/api/annotations?{requested}", None)
    try:
        result = json.loads(reply.body)
    except (ValueError, RecursionError):
        result = None
    if not isinstance(result, list):
        raise OutgoingError(
            "garbled",
            host=parse_base_url(annotation_attempt.lead.url).host,
            port=parse_base_url(annotation_attempt.lead.url).port,
        )
    if not result or not isinstance(result[0], dict) or "id" not in result[0]:
        return None
    return _parse_id(annotation_attempt, result[0]["id"])


def _parse_id_field(annotation_attempt: AnnotationAttempt, reply: Reply, name: str) -> int:
    try:
        value = json.loads(reply.body)[name]
    except (ValueError, TypeError, LookupError, RecursionError):
        value = None
    return _parse_id(annotation_attempt, value)


def _parse_id(annotation_attempt: AnnotationAttempt, value: object) -> int:
    """Return the ID of an annotation as the server sent it.

    Raises OutgoingError if no column can store it.
    """
    text = str(value) if isinstance(value, int | str) else ""
    if not is_digits(text) or int(text) > INT8_MAX:
        endpoint = parse_base_url(annotation_attempt.lead.url)
        raise OutgoingError("garbled", host=endpoint.host, port=endpoint.port)
    return int(text)


def _send_to_grafana(
    annotation_attempt: AnnotationAttempt,
    method: Method,
    path: str,
    body: dict[str, Any] | None,
    *,
    missing: bool = False,
) -> Reply:
    endpoint = parse_base_url(annotation_attempt.lead.url)
    headers = {"Authorization": f"Bearer {annotation_attempt.lead.secret}", "User-Agent": "culprit"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    sent = None if body is None else json.dumps(body, ensure_ascii=False).encode()
    request = Request(endpoint, endpoint.path + path, headers, sent, method)
    reply = send_request(request, annotation_attempt.rules, total_s=ANSWER_S, limit=ANSWER_BYTES)
    if not 200 <= reply.status < 300 and not (missing and reply.status == 404):
        raise OutgoingError("status", host=endpoint.host, status=reply.status)
    return reply


def _record_success(annotation_attempt: AnnotationAttempt, number: int | None) -> str:
    """Record the ID. If the required state has changed since, the annotation stays queued."""
    state = "deleted" if annotation_attempt.is_deleted else "sent"
    values: dict[str, Any] = {"state": state, "failure": None, "sent_at": func.clock_timestamp()}
    with unit_of_work(get_database().sessions) as session:
        _update_annotation(session, annotation_attempt, {"grafana_id": number})
        same = (
            GrafanaAnnotation.digest == annotation_attempt.digest,
            GrafanaAnnotation.is_deleted.is_(annotation_attempt.is_deleted),
            GrafanaAnnotation.attempts == annotation_attempt.number,
        )
        done = session.execute(
            update(GrafanaAnnotation)
            .where(GrafanaAnnotation.id == annotation_attempt.row_id, *same)
            .values(**values)
            .returning(GrafanaAnnotation.id)
        ).first()
        if done is None:
            _update_annotation(session, annotation_attempt, {"not_before": func.clock_timestamp()})
    return state if done is not None else "queued"


def _record_failure(annotation_attempt: AnnotationAttempt, error: OutgoingError) -> str:
    pause = PAUSES_S[min(annotation_attempt.number - 1, len(PAUSES_S) - 1)]
    values: dict[str, Any] = {
        "failure": error.sentence,
        "not_before": func.clock_timestamp() + timedelta(seconds=pause),
    }
    if is_permanent(error) or annotation_attempt.number > len(PAUSES_S):
        values["state"] = "failed"
    log.info(
        "annotation_failed",
        annotation=str(annotation_attempt.row_id),
        attempts=annotation_attempt.number,
        kind=error.kind,
    )
    with unit_of_work(get_database().sessions) as session:
        session.execute(
            update(GrafanaAnnotation)
            .where(
                GrafanaAnnotation.id == annotation_attempt.row_id,
                GrafanaAnnotation.attempts == annotation_attempt.number,
                GrafanaAnnotation.state == "queued",
            )
            .values(**values)
            .execution_options(synchronize_session=False)
        )
    return str(values.get("state", "queued"))


def _update_annotation(
    session: Session, annotation_attempt: AnnotationAttempt, values: dict[str, Any]
) -> None:
    session.execute(
        update(GrafanaAnnotation)
        .where(GrafanaAnnotation.id == annotation_attempt.row_id)
        .values(**values)
        .execution_options(synchronize_session=False)
    )


JOB = Job("culprit.send_annotation", "ssh", send_annotation, pending_annotations)
