"""Build the timeline of a host."""

from __future__ import annotations

import json
from uuid import UUID

import numpy as np
from sqlalchemy.orm import Session

from collectors.metrics.registry import METRICS
from collectors.profiles.limits import ImportRefusedError
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.series import chunks
from culprit.evidence.timeline import queries, track_builder
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.lines import read_line_range
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.artifacts.stored_part import StoredPart
from culprit.infra.db.clock import now_ns
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.event import StoredEvent
from culprit.infra.models.evidence.reported_event import ReportedEvent
from culprit.infra.models.hosts.host import Host
from culprit.json_types import Json
from culprit.web.errors import InvalidRequestError, NotFoundError

MAX_TRACKS = 300
MAX_EVENTS = 2000
MAX_RUNS = 2000
# All stored times are within these bounds. Requested times are limited to them, so that arithmetic cannot overflow.
FIRST_NS = 0
LAST_NS = 1 << 62


def build_timeline(
    session: Session,
    actor: Actor,
    host_id: UUID,
    *,
    from_ns: int | None,
    to_ns: int | None,
    width: int,
    metrics: list[str] | None,
    agg: str,
) -> Json:
    """Return the tracks, captures and events of a host in a time range, by default in the range of all its data.

    Raises NotFoundError for an unknown host, InvalidRequestError for an empty range.
    """
    host = _get_host(session, actor, host_id)
    first, last = queries.find_time_range(session, host.id)
    begin = from_ns if from_ns is not None else (first if first is not None else now_ns() - chunks.HOUR_NS)
    end = to_ns if to_ns is not None else (last + 1 if last is not None else now_ns())
    if not FIRST_NS <= begin < end <= LAST_NS:
        raise InvalidRequestError("timeline.empty_range", from_ns=begin, to_ns=end)
    all_series = sorted(queries.list_series(session, host.id), key=track_builder.sort_key)
    if metrics is not None:
        requested_metrics = set(metrics)
        all_series = [series for series in all_series if series.metric in requested_metrics]
    present = [series for series in all_series if series.first_ns < end and series.last_ns >= begin]
    runs, runs_total = queries.list_runs(session, host.id, begin, end, MAX_RUNS)
    events, events_total = queries.list_events(session, host.id, begin, end, MAX_EVENTS)
    reported, reported_total = queries.list_reported_events(session, host.id, begin, end, MAX_EVENTS)
    return {
        "from_ns": begin,
        "to_ns": end,
        "tracks": track_builder.build_tracks(
            session, present[:MAX_TRACKS], from_ns=begin, to_ns=end, width=width, plane=agg
        ),
        "track_count": len(present),
        "captures": [run_to_json(run, capture) for run, capture in runs],
        "captures_total": runs_total,
        "events": sorted(
            [event_to_json(event) for event in events]
            + [reported_event_to_json(item, name) for item, name in reported],
            key=lambda event: event["t_ns"],
        ),
        "events_total": events_total + reported_total,
        "range": {"first_ns": first, "last_ns": last},
    }


def build_overview(session: Session, actor: Actor, host_id: UUID) -> Json:
    """Return the tracks of a host with their time ranges, and its runs. Read no chunk."""
    host = _get_host(session, actor, host_id)
    first, last = queries.find_time_range(session, host.id)
    runs, total = queries.list_runs(session, host.id, FIRST_NS, LAST_NS, MAX_RUNS)
    all_series = sorted(queries.list_series(session, host.id), key=track_builder.sort_key)
    return {
        "first_ns": first,
        "last_ns": last,
        "runs": [run_to_json(run, capture) for run, capture in runs],
        "runs_total": total,
        "tracks": [
            {
                **track_builder.describe_series(item),
                "group": METRICS[item.metric].track.group if item.metric in METRICS else "",
                "first_ns": item.first_ns,
                "last_ns": item.last_ns,
            }
            for item in all_series
        ],
    }


def find_source_line(
    session: Session,
    store: ArtifactStore,
    actor: Actor,
    host_id: UUID,
    *,
    metric: str,
    labels: dict[str, str],
    t_ns: int,
) -> Json:
    """Return the artifact line of the value at `t_ns`, or of the last value before it.

    Raises NotFoundError if the series has no value within one hour before `t_ns`.
    """
    host = _get_host(session, actor, host_id)
    authorize(actor, "artifact.read", host)
    key = json.dumps(labels, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    nearest_chunk = queries.find_nearest_chunk(session, host.id, metric, key, t_ns)
    if nearest_chunk is None:
        raise NotFoundError("timeline.nothing_there")
    chunk, artifact = nearest_chunk
    rows = chunks.decode_rows(chunk.data)
    at = max(0, int(np.searchsorted(rows.start_ns, t_ns, "right")) - 1)
    line = int(chunks.decode_lines(chunk.lines)[at]) if chunk.lines is not None else None
    line_text = None
    if line is not None and line > 0:
        try:
            path = store.path(artifact.sha256)
            part = StoredPart(artifact.sha256, artifact.size, path, artifact.encoding)  # type: ignore[arg-type]
            line_text = next(iter(read_line_range(part, line, 1).lines), None)
        except (ArtifactMissingError, ArtifactAlteredError, ImportRefusedError):
            line_text = None
    return {
        "artifact_id": artifact.id,
        "part": artifact.part,
        "line": line,
        "text": line_text,
        "run_id": chunk.run_id,
        "t_ns": int(rows.start_ns[at]),
        "values": dict(zip(chunk.axis_values or [""], rows.mean[at].tolist(), strict=True)),
    }


def _get_host(session: Session, actor: Actor, host_id: UUID) -> Host:
    host = queries.find_host(session, actor, host_id)
    if host is None:
        raise NotFoundError("host.not_found")
    authorize(actor, "host.read", host)
    return host


def run_to_json(run: Run, capture: Capture) -> Json:
    """Return a run in the form of a timeline block."""
    return {
        "run_id": run.id,
        "capture_id": capture.id,
        "number": capture.number,
        "plan": capture.plan,
        "state": run.state,
        "collectors": len(capture.collectors),
        "look_back_ns": run.look_back_ns,
        "from_ns": run.t0_ns,
        "to_ns": run.t1_ns,
        "uncertainty_ns": int((run.clock or {}).get("uncertainty_ns") or 0),
    }


def event_to_json(event: StoredEvent) -> Json:
    """Return an event in the form of a timeline event."""
    names = (
        "id",
        "t_ns",
        "end_ns",
        "uncertainty_ns",
        "kind",
        "severity",
        "title",
        "detail",
        "line",
        "run_id",
    )
    fields = {name: getattr(event, name) for name in names}
    return {**fields, "artifact_id": event.artifact_id, "reported": None}


def reported_event_to_json(event: ReportedEvent, reported_by: str) -> Json:
    """Return a reported event in the form of a timeline event, with its reporter instead of an artifact."""
    return {
        "id": event.id,
        "t_ns": event.t_ns,
        "end_ns": event.end_ns,
        "uncertainty_ns": 0,
        "kind": event.kind,
        "severity": "info",
        "title": {"key": "reported_event.title", "params": {"what": event.what}},
        "detail": event.detail,
        "artifact_id": None,
        "line": None,
        "run_id": None,
        "reported": {
            "by": reported_by,
            "who": event.who,
            "link": event.link,
            "everywhere": event.everywhere,
        },
    }
