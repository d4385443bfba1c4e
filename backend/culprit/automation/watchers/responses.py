"""Build the responses of watchers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.runner.watcher import KINDS, STARTS, parse_kind
from culprit.automation.watchers import queries, service
from culprit.automation.watchers.schemas import (
    ConditionKindResponse,
    ConditionResponse,
    WatcherCapture,
    WatcherCaptureSpec,
    WatcherResponse,
)
from culprit.infra.db.clock import utc_now
from culprit.infra.models.automation.watcher import Watcher
from culprit.infra.models.captures.capture import Capture
from culprit.json_types import Json
from culprit.web.schemas import HostRef, LocalizedText, UserRef

MAX_LISTED_CAPTURES = 10


def build_watchers(session: Session, rows: Sequence[Watcher]) -> list[WatcherResponse]:
    """Build the responses of several watchers, with the captures that they started."""
    captures = queries.list_started_captures(session, (row.id for row in rows))
    user_names = queries.load_user_names(session, (row.requested_by for row in rows))
    incident_numbers = queries.load_incident_numbers(session, (row.incident_id for row in rows))
    return [_build_watcher(row, captures.get(row.id, []), user_names, incident_numbers) for row in rows]


def _build_watcher(
    watcher: Watcher,
    captures: Sequence[Capture],
    user_names: Mapping[UUID, str],
    incident_numbers: Mapping[UUID, int],
) -> WatcherResponse:
    return WatcherResponse.model_validate(
        {
            "id": watcher.id,
            "number": watcher.number,
            "kind": watcher.kind,
            "host": HostRef(id=watcher.host.id, name=watcher.host.name),
            "state": watcher.state,
            "reason": watcher.reason,
            "lookback_s": watcher.lookback_s,
            "stacks": watcher.stacks,
            "buffered_s": _compute_buffered_s(watcher),
            "conditions": [_build_condition(condition) for condition in watcher.conditions],
            "capture": _build_capture_spec(watcher),
            "incident": {"id": watcher.incident_id, "number": incident_numbers[watcher.incident_id]}
            if watcher.incident_id
            else None,
            "capture_count": watcher.capture_count,
            "max_captures": watcher.max_captures,
            "cooldown_s": watcher.cooldown_s,
            "last_capture_at": watcher.last_capture_at,
            "captures": [
                WatcherCapture(
                    id=capture.id, number=capture.number, state=capture.state, created_at=capture.created_at
                )
                for capture in captures[:MAX_LISTED_CAPTURES]
            ],
            "rejection": watcher.rejection,
            "expires_at": watcher.expires_at,
            "requested_by": UserRef(id=watcher.requested_by, name=user_names[watcher.requested_by])
            if watcher.requested_by in user_names and watcher.requested_by
            else None,
            "created_at": watcher.created_at,
            "started_at": watcher.started_at,
            "ended_at": watcher.ended_at,
            "interruption_count": watcher.interruption_count,
            "wait_reason": watcher.wait_reason,
            "failure": watcher.failure,
            "cost": watcher.cost,
            "readings": watcher.readings,
        }
    )


def _compute_buffered_s(watcher: Watcher) -> float | None:
    if watcher.state != "watching" or watcher.started_at is None:
        return None
    elapsed_s = max(0.0, (utc_now() - watcher.started_at).total_seconds())
    return round(min(float(watcher.lookback_s), elapsed_s), 1)


def _build_condition(condition: Json) -> ConditionResponse:
    kind = parse_kind(str(condition["kind"]))
    return ConditionResponse.model_validate(
        {**condition, "unit": KINDS[kind].unit if kind else "", "is_start": kind in STARTS}
    )


def _build_capture_spec(watcher: Watcher) -> WatcherCaptureSpec | None:
    spec = watcher.capture_spec
    if spec is None:
        return None
    return WatcherCaptureSpec.model_validate(
        {
            "plan": "custom" if spec.get("collectors") else spec["plan"],
            "seconds": spec.get("seconds"),
            "tier": service.get_capture_tier(watcher),
            "scope": spec.get("scope") or {},
        }
    )


def build_condition_kinds() -> list[ConditionKindResponse]:
    """Build the list of conditions that a conditional capture can use."""
    return [
        ConditionKindResponse(
            kind=kind,
            title=LocalizedText(en=watched.title.en, zh=watched.title.zh),
            unit=watched.unit,
            key=watched.key.pattern,
            example=watched.example,
            is_start=kind in STARTS,
        )
        for kind, watched in KINDS.items()
    ]
