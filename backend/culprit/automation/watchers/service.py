"""Create and stop watchers: permissions, limits and validation."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from sqlalchemy import ColumnElement
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.plans import PLANS, highest_tier
from collectors.registry import COLLECTORS
from collectors.runner.watcher import WatcherCondition
from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.accounts.kill_switch_check import require_start_allowed
from culprit.accounts.unattended_tiers import require_tier_allowed
from culprit.automation.watchers import incident_evidence, queries
from culprit.automation.watchers.schemas import (
    ConditionalWatcherCreate,
    ConditionRequest,
    LookbackWatcherCreate,
)
from culprit.captures import service as captures
from culprit.captures.schemas import CaptureCreate
from culprit.infra.db.clock import utc_now
from culprit.infra.models.automation.watcher import Watcher
from culprit.infra.models.hosts.host import Host
from culprit.json_types import Json
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError

#: The source of captures that a watcher starts.
SOURCE = "watcher"
ACTIONS = {"lookback": "watcher.lookback", "conditional": "watcher.conditional"}
#: Length of the look-back buffer of a conditional watcher: its captures include the time before the condition.
CONDITIONAL_LOOKBACK_S = 180
#: Bytes of /proc per second on a host with 100 CPUs. Larger hosts keep fewer seconds.
BYTES_PER_S = 32 << 10


def create_watcher(
    session: Session, actor: Actor, request: LookbackWatcherCreate | ConditionalWatcherCreate
) -> Watcher:
    """Create a watcher; the next free worker starts it.

    Raises InvalidRequestError, ForbiddenError, ConflictError, NotFoundError.
    """
    authorize(actor, ACTIONS[request.kind])
    host = queries.find_active_host(session, actor, request.host_id)
    if host is None:
        raise NotFoundError("host.not_found")
    authorize(actor, ACTIONS[request.kind], host)
    require_start_allowed(session, [host])
    lookback_s = request.seconds if isinstance(request, LookbackWatcherCreate) else CONDITIONAL_LOOKBACK_S
    watcher = Watcher(
        kind=request.kind,
        host_id=host.id,
        reason=request.reason,
        lookback_s=lookback_s,
        lookback_bytes=lookback_s * BYTES_PER_S,
        expires_at=utc_now() + timedelta(hours=request.hours),
        requested_by=actor.id,
    )
    if isinstance(request, LookbackWatcherCreate) and request.stacks:
        watcher.stacks = True
        require_stacks_permitted(session, actor, host)
    if isinstance(request, ConditionalWatcherCreate):
        _validate_conditional(session, actor, watcher, request, host)
    try:
        with session.begin_nested():
            session.add(watcher)
    except IntegrityError:  # uq_watcher_open
        raise ConflictError(f"watcher.{request.kind}_exists", host=host.name) from None
    if isinstance(request, ConditionalWatcherCreate) and request.incident_id is not None:
        incident_evidence.link_to_incident(session, actor, watcher, request.incident_id)
    audit.record_action(
        session, actor, "watcher.create", "watcher", watcher.id, **_audit_details(watcher, host)
    )
    return watcher


def _validate_conditional(
    session: Session, actor: Actor, watcher: Watcher, request: ConditionalWatcherCreate, host: Host
) -> None:
    """Set the conditions and the capture, with the checks that apply when the capture starts."""
    watcher.conditions = [parse_condition(condition).to_json() for condition in request.conditions]
    watcher.capture_spec = request.model_dump(
        mode="json", include={"plan", "seconds", "collectors", "scope", "options"}, exclude_none=True
    )
    capture = build_capture(watcher)
    plan = captures.build_plan(capture)
    captures.build_scope(capture)
    captures.check_options(capture.options, plan)
    authorize(actor, f"capture.{plan.tier}", host)
    require_tier_allowed(session, plan.tier, [host], SOURCE)
    watcher.max_captures, watcher.cooldown_s = request.max_captures, request.cooldown_s


def require_stacks_permitted(session: Session, actor: Actor, host: Host) -> None:
    """Require the standard tier on the host: perf interrupts every CPU for hours. Raises ForbiddenError."""
    authorize(actor, f"capture.{Tier.STANDARD}", host)
    require_tier_allowed(session, Tier.STANDARD, [host], SOURCE)


def parse_condition(request: ConditionRequest) -> WatcherCondition:
    """Return the condition for the host. Raises InvalidRequestError."""
    try:
        return WatcherCondition(**request.model_dump())
    except ValueError as error:
        raise InvalidRequestError(
            "watcher.condition_invalid", kind=request.kind, what=str(error)[:200]
        ) from error


def build_capture(watcher: Watcher, reason: str = "") -> CaptureCreate:
    """Return the capture that a conditional watcher starts."""
    return CaptureCreate.model_validate(
        {"host_ids": [watcher.host_id], "reason": reason, **(watcher.capture_spec or {})}
    )


def get_capture_tier(watcher: Watcher) -> str:
    """Return the tier of the capture that a conditional watcher starts."""
    spec = watcher.capture_spec or {}
    names = spec.get("collectors") or [
        collector.id for collector in PLANS[spec.get("plan", "triage")].collectors
    ]
    return str(highest_tier(name for name in names if name in COLLECTORS))


def get_watcher(session: Session, actor: Actor, watcher_id: UUID, *, lock: bool = False) -> Watcher:
    """Return a visible watcher. Raises NotFoundError."""
    watcher = queries.find_watcher(session, actor, watcher_id, lock=lock)
    if watcher is None:
        raise NotFoundError("watcher.not_found")
    return watcher


def stop_watcher(session: Session, actor: Actor, watcher_id: UUID) -> Watcher:
    """Stop a watcher. Repeating it changes nothing. Raises NotFoundError, ForbiddenError."""
    watcher = get_watcher(session, actor, watcher_id, lock=True)
    if watcher.requested_by != actor.id:
        authorize(actor, ACTIONS[watcher.kind], watcher.host)
    if watcher.ended_at is None and watcher.cancel_requested_at is None:
        _request_cancel(watcher, None)
        watcher.ended_by = actor.id
        audit.record_action(
            session,
            actor,
            "watcher.stop",
            "watcher",
            watcher.id,
            number=watcher.number,
            host=watcher.host.name,
        )
    session.flush()
    return watcher


def stop_watchers_on_hosts(session: Session, hosts: ColumnElement[bool], reason: Json) -> list[Watcher]:
    """Stop all watchers on the hosts of a condition. Waiting ones end now, the others within seconds."""
    watchers = queries.lock_open_watchers(session, hosts)
    for watcher in watchers:
        _request_cancel(watcher, reason)
    session.flush()
    return watchers


def _request_cancel(watcher: Watcher, reason: Json | None) -> None:
    watcher.cancel_requested_at = watcher.cancel_requested_at or utc_now()
    watcher.failure = reason or watcher.failure
    if watcher.state == "waiting":
        watcher.state, watcher.ended_at, watcher.wait_reason = "canceled", utc_now(), None


def _audit_details(watcher: Watcher, host: Host) -> Json:
    return {
        "kind": watcher.kind,
        "host": host.name,
        "expires_at": watcher.expires_at.isoformat(),
        "conditions": watcher.conditions,
        "capture": watcher.capture_spec,
        "max_captures": watcher.max_captures,
        "lookback_s": watcher.lookback_s,
        "stacks": watcher.stacks,
        "reason": watcher.reason,
    }
