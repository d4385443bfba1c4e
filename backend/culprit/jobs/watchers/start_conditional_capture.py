"""Start the capture of a conditional watcher when a condition begins to hold, after checking all permissions again."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy.orm import Session

from collectors.runner.watcher import WatcherCondition
from culprit.accounts import audit
from culprit.accounts.actor import Actor, find_actor
from culprit.accounts.authorization import authorize
from culprit.automation.watchers import incident_evidence, locks
from culprit.automation.watchers.locks import WatcherLease
from culprit.automation.watchers.service import SOURCE, build_capture
from culprit.captures import service as captures
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.clock import to_ns, utc_now
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.automation.watcher import Watcher
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.evidence.event import StoredEvent
from culprit.jobs.capture.queries import has_unfinished_runs
from culprit.json_types import Json
from culprit.web.errors import CulpritError

#: How long the look-back buffer stays available for the last capture that was started.
COLLECT_WITHIN = timedelta(seconds=120)


def start_conditional_capture(lease: WatcherLease, condition: WatcherCondition, value: float | None) -> bool:
    """Start the capture, or record why not. Return whether the watcher has started all its captures."""
    with unit_of_work(get_database().sessions) as session:
        watcher = locks.lock_owned_watcher(session, lease)
        if watcher is None:
            return False
        if watcher.cancel_requested_at is not None or watcher.capture_count >= watcher.max_captures:
            return watcher.capture_count >= watcher.max_captures
        at = utc_now()
        last_at = watcher.last_capture_at
        if last_at is not None and at < last_at + timedelta(seconds=watcher.cooldown_s):
            _record_rejection(watcher, {"key": "watcher.cooldown", "params": {"seconds": watcher.cooldown_s}})
            return False
        actor = find_actor(session, watcher.requested_by)
        if actor is None:
            _record_rejection(watcher, {"key": "run.requester_gone", "params": {}})
            return False
        try:
            with session.begin_nested():
                capture = _create_capture(session, actor, watcher, condition, value)
        except CulpritError as error:
            _record_rejection(watcher, error.sentence)
            audit.record_action(
                session, actor, "watcher.capture_rejected", "watcher", watcher.id, reason=error.sentence
            )
            return False
        watcher.capture_count, watcher.last_capture_at, watcher.rejection = (
            watcher.capture_count + 1,
            at,
            None,
        )
        _add_timeline_event(session, watcher, condition)
        audit.record_action(
            session,
            actor,
            "watcher.captured",
            "watcher",
            watcher.id,
            condition=condition.to_json(),
            value=value,
            capture=capture.number,
        )
        return watcher.capture_count >= watcher.max_captures


def _create_capture(
    session: Session, actor: Actor, watcher: Watcher, condition: WatcherCondition, value: float | None
) -> Capture:
    """Create the capture with the current permissions, kill switches and tier limits."""
    authorize(actor, "watcher.conditional", watcher.host)
    reason = f"watcher #{watcher.number}: {describe_condition(condition, value)}"
    request = build_capture(watcher, reason[:500])
    capture = captures.create_capture(session, actor, artifact_store(), request, source=SOURCE)
    capture.watcher_id = watcher.id
    session.flush()
    if watcher.incident_id is not None:
        incident_evidence.attach_capture(session, watcher, capture, condition)
    return capture


def describe_condition(condition: WatcherCondition, value: float | None) -> str:
    """Return a condition with its reading, as typed on the command line."""
    name = incident_evidence.describe_kind(condition)
    if condition.starts:
        return name
    reading = "-" if value is None else f"{value:g}"
    return f"{name} {reading} {'>=' if condition.op == 'over' else '<='} {condition.limit:g}"


def _record_rejection(watcher: Watcher, reason: Json) -> None:
    watcher.rejection = {"at": utc_now().isoformat(), "reason": reason}


def _add_timeline_event(session: Session, watcher: Watcher, condition: WatcherCondition) -> None:
    """Add an event to the timeline of the host, at the time of the server."""
    what = incident_evidence.describe_kind(condition)
    title = {"key": "event.conditional_capture", "params": {"number": watcher.number, "what": what}}
    session.add(
        StoredEvent(
            host_id=watcher.host_id, t_ns=to_ns(utc_now()), kind="watcher", severity="info", title=title
        )
    )


def is_lookback_collected(lease: WatcherLease) -> bool:
    """Return whether the look-back buffer is no longer needed: its captures have finished, or the time is over."""
    with get_database().sessions() as session:
        watcher = session.get(Watcher, lease.watcher_id)
        if watcher is None or watcher.last_capture_at is None:
            return True
        unfinished = has_unfinished_runs(session, watcher.id)
        return not unfinished or utc_now() > watcher.last_capture_at + COLLECT_WITHIN
