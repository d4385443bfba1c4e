"""What a person sees of a host over time."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy.orm import Session

from collectors.metrics import CATALOGUE
from collectors.parse.limits import ImportRefused
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core import chunks
from culprit.infra.artifact_lines import window
from culprit.infra.artifacts import ArtifactAltered, ArtifactMissing, ArtifactStore
from culprit.infra.parts import StoredPart
from culprit.kit.clock import now_ns
from culprit.kit.errors import Invalid, NotFound
from culprit.models import Annotation, Capture, Event, Host, Run
from culprit.timeline import lanes, queries

MAX_LANES = 300
MAX_EVENTS = 2000
MAX_RUNS = 2000
# Beyond these nothing is stored, so that no arithmetic on asked times can overflow.
FIRST_NS = 0
LAST_NS = 1 << 62
Json = dict[str, Any]


def timeline(
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
    """One view. Without a range: all that there is."""
    host = _host(session, actor, host_id)
    first, last = queries.span(session, host.id)
    begin = from_ns if from_ns is not None else (first if first is not None else now_ns() - chunks.HOUR_NS)
    end = to_ns if to_ns is not None else (last + 1 if last is not None else now_ns())
    if not FIRST_NS <= begin < end <= LAST_NS:
        raise Invalid("timeline.empty_range", from_ns=begin, to_ns=end)
    known = sorted(queries.lanes(session, host.id), key=lanes.order)
    if metrics is not None:
        wanted = set(metrics)
        known = [series for series in known if series.metric in wanted]
    present = [series for series in known if series.first_ns < end and series.last_ns >= begin]
    runs, runs_total = queries.runs(session, host.id, begin, end, MAX_RUNS)
    events, events_total = queries.events(session, host.id, begin, end, MAX_EVENTS)
    told, told_total = queries.told(session, host.id, begin, end, MAX_EVENTS)
    return {
        "from_ns": begin,
        "to_ns": end,
        "lanes": lanes.draw(session, present[:MAX_LANES], from_ns=begin, to_ns=end, width=width, plane=agg),
        "lanes_total": len(present),
        "captures": [block(run, capture) for run, capture in runs],
        "captures_total": runs_total,
        "events": sorted(
            [event(one) for one in events] + [annotation(one, name) for one, name in told],
            key=lambda one: one["t_ns"],
        ),
        "events_total": events_total + told_total,
        "range": {"first_ns": first, "last_ns": last},
    }


def overview(session: Session, actor: Actor, host_id: UUID) -> Json:
    """Which lanes there are and since when; opens no chunk."""
    host = _host(session, actor, host_id)
    first, last = queries.span(session, host.id)
    runs, total = queries.runs(session, host.id, FIRST_NS, LAST_NS, MAX_RUNS)
    known = sorted(queries.lanes(session, host.id), key=lanes.order)
    return {
        "first_ns": first,
        "last_ns": last,
        "runs": [block(run, capture) for run, capture in runs],
        "runs_total": total,
        "lanes": [
            {
                **lanes.describe(one),
                "group": CATALOGUE[one.metric].lane.group if one.metric in CATALOGUE else "",
                "first_ns": one.first_ns,
                "last_ns": one.last_ns,
            }
            for one in known
        ],
    }


def cite(
    session: Session,
    store: ArtifactStore,
    actor: Actor,
    host_id: UUID,
    *,
    metric: str,
    labels: dict[str, str],
    t_ns: int,
) -> Json:
    """The line of the artifact from which the value at `t_ns` (or the last before it) was read."""
    host = _host(session, actor, host_id)
    policy(actor, "artifact.read", host)
    key = json.dumps(labels, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    found = queries.nearest_chunk(session, host.id, metric, key, t_ns)
    if found is None:
        raise NotFound("timeline.nothing_there")
    chunk, artifact = found
    rows = chunks.decode(chunk.data)
    at = max(0, int(np.searchsorted(rows.start_ns, t_ns, "right")) - 1)
    line = int(chunks.decode_lines(chunk.lines)[at]) if chunk.lines is not None else None
    shown = None
    if line is not None and line > 0:
        try:
            path = store.path(artifact.sha256)
            part = StoredPart(artifact.sha256, artifact.size, path, artifact.encoding)  # type: ignore[arg-type]
            shown = next(iter(window(part, line, 1).lines), None)
        except (ArtifactMissing, ArtifactAltered, ImportRefused):
            shown = None
    return {
        "artifact_id": artifact.id,
        "part": artifact.part,
        "line": line,
        "text": shown,
        "run_id": chunk.run_id,
        "t_ns": int(rows.start_ns[at]),
        "values": dict(zip(chunk.axis_values or [""], rows.mean[at].tolist(), strict=True)),
    }


def _host(session: Session, actor: Actor, host_id: UUID) -> Host:
    host = queries.host(session, actor, host_id)
    if host is None:
        raise NotFound("host.not_found")
    policy(actor, "host.read", host)
    return host


def block(run: Run, capture: Capture) -> Json:
    """A run as it is drawn."""
    return {
        "run_id": run.id,
        "capture_id": capture.id,
        "number": capture.number,
        "plan": capture.plan,
        "state": run.state,
        "look_back_ns": run.look_back_ns,
        "from_ns": run.t0_ns,
        "to_ns": run.t1_ns,
        "uncertainty_ns": int((run.clock or {}).get("uncertainty_ns") or 0),
    }


def event(one: Event) -> Json:
    """An event as it is drawn."""
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
    same = {name: getattr(one, name) for name in names}
    return {**same, "artifact_id": one.artifact_id, "told": None}


def annotation(one: Annotation, told_by: str) -> Json:
    """What somebody told, as an event is drawn: it has no bytes behind it, but a name."""
    return {
        "id": one.id,
        "t_ns": one.t_ns,
        "end_ns": one.end_ns,
        "uncertainty_ns": 0,
        "kind": one.kind,
        "severity": "info",
        "title": {"key": "annotation.title", "params": {"what": one.what}},
        "detail": one.detail,
        "artifact_id": None,
        "line": None,
        "run_id": None,
        "told": {"by": told_by, "who": one.who, "link": one.link, "everywhere": one.everywhere},
    }
