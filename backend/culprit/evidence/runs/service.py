"""What a person may see of a run, and of the bytes that it brought home."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.metrics import CATALOGUE
from collectors.parse.limits import Encoding, ImportRefused
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core.chunks import read_summary
from culprit.core.rollup import Row, combine
from culprit.evidence import queries
from culprit.evidence.schemas import (
    ArtifactRead,
    CaptureRef,
    ClockRead,
    CollectorRead,
    CollectorWarning,
    HostRef,
    ProfileRef,
    RemovalRead,
    RunRead,
    TableRead,
)
from culprit.infra.artifact_lines import MAX_COUNT, window
from culprit.infra.artifacts import ArtifactAltered, ArtifactMissing, ArtifactStore
from culprit.infra.parts import StoredPart
from culprit.kit.errors import Conflict, Gone, NotFound
from culprit.models import Artifact, Capture, Run, RunCollector

Json = dict[str, Any]


def run(session: Session, actor: Actor, run_id: UUID) -> tuple[Run, Capture]:
    """A run that exists for this actor; raises NotFound."""
    policy(actor, "capture.read")
    found = queries.run(session, actor, run_id)
    if found is None:
        raise NotFound("run.not_found")
    return found


def read_run(session: Session, actor: Actor, run_id: UUID) -> RunRead:
    """All about one run."""
    found, capture = run(session, actor, run_id)
    names = {one.id: one.collector for one in found.collectors}
    seconds = (
        (found.ended_at - found.started_at).total_seconds() if found.ended_at and found.started_at else None
    )
    plain = {
        name: getattr(found, name)
        for name in RunRead.model_fields.keys() & set(Run.__table__.columns.keys())
        if name not in {"clock"}
    }
    return RunRead(
        **plain,
        host=HostRef(id=found.host.id, name=found.host.name) if found.host else None,
        seconds=round(seconds, 3) if seconds is not None else None,
        capture=CaptureRef(
            id=capture.id,
            number=capture.number,
            plan=capture.plan,
            source=capture.source,
            reason=capture.reason,
        ),
        clock=_clock(found.clock),
        collectors=[_collector(one) for one in found.collectors],
        artifacts=[
            ArtifactRead(
                **{n: getattr(one, n) for n in ArtifactRead.model_fields if n != "collector"},
                collector=names.get(one.run_collector_id) if one.run_collector_id else None,
            )
            for one in queries.artifacts(session, run_id)
        ],
        profiles=[
            ProfileRef(**{n: getattr(one, n) for n in ProfileRef.model_fields})
            for one in queries.profiles(session, run_id)
        ],
        tables=[
            TableRead(
                kind=one.kind,
                collector=names.get(one.run_collector_id) if one.run_collector_id else None,
                columns=one.columns,
                rows=one.rows,
                lines=one.lines,
                artifact_id=one.artifact_id,
            )
            for one in queries.tables(session, run_id)
        ],
        removals=[
            RemovalRead(kind=one.kind, at=one.at, items=one.items, bytes=one.bytes)
            for one in queries.removals(session, run_id)
        ],
        warnings=[
            CollectorWarning(collector=one.collector, warning=warning)
            for one in found.collectors
            for warning in one.warnings
        ],
    )


def _clock(stored: Json | None) -> ClockRead | None:
    """The clock in milliseconds, whichever of its two spellings was stored."""
    if stored is None:
        return None
    uncertainty = stored.get("uncertainty_ms")
    if uncertainty is None and stored.get("uncertainty_ns") is not None:
        uncertainty = stored["uncertainty_ns"] / 1e6
    return ClockRead(
        offset_ms=stored.get("offset_ms"),
        uncertainty_ms=uncertainty,
        source=stored.get("source"),
        steps=stored.get("steps") or [],
        server_offset_ns=stored.get("server_offset_ns"),
        server_uncertainty_ns=stored.get("server_uncertainty_ns"),
        records=stored.get("records") or [],
        perf_reference=stored.get("perf_reference") or {},
    )


def _collector(one: RunCollector) -> CollectorRead:
    took = one.ended_ns - one.started_ns if one.ended_ns and one.started_ns else None
    names = CollectorRead.model_fields.keys() - {"id", "seconds", "progress"}
    return CollectorRead(
        **{name: getattr(one, name) for name in names},
        id=one.collector,
        seconds=round(took / 1e9, 3) if took is not None else None,
    )


def read_series(session: Session, actor: Actor, run_id: UUID) -> list[Json]:
    """Every series of a run in numbers, over all its columns and all its time."""
    run(session, actor, run_id)
    grouped: dict[tuple[str, str], list[Any]] = {}
    for row in queries.series(session, run_id):
        grouped.setdefault((row.metric, repr(sorted(row.labels.items()))), []).append(row)
    return [_series(rows) for rows in grouped.values()]


def _series(rows: list[Any]) -> Json:
    first = rows[0]
    metric = CATALOGUE.get(first.metric)
    total = combine([Row(tuple(r.axis_values or ("",)), read_summary(r.summary)) for r in rows])
    assert total is not None
    low, mean, high, count = (plane.tolist() for plane in total.planes)
    weight = sum(count)
    return {
        "metric": first.metric,
        "labels": first.labels,
        "axis": first.axis,
        "axis_values": list(total.columns) if first.axis is not None else None,
        "unit": metric.unit if metric else "",
        "n": sum(row.n for row in rows),
        "min": min((v for v, c in zip(low, count, strict=True) if c), default=None),
        "mean": sum(m * c for m, c in zip(mean, count, strict=True) if c) / weight if weight else None,
        "max": max((v for v, c in zip(high, count, strict=True) if c), default=None),
        "t0_ns": min(row.t0_ns for row in rows),
        "t1_ns": max(row.t1_ns for row in rows),
    }


def read_events(session: Session, actor: Actor, run_id: UUID) -> list[Json]:
    """The events of a run."""
    run(session, actor, run_id)
    names = (
        "id", "t_ns", "end_ns", "uncertainty_ns", "kind", "severity", "title", "detail",
        "artifact_id", "line",
    )  # fmt: skip
    return [{name: getattr(one, name) for name in names} for one in queries.events(session, run_id)]


def artifact(session: Session, actor: Actor, artifact_id: UUID) -> tuple[Artifact, str]:
    """A stored part that this actor may read raw, and what a file of it is called."""
    found = queries.artifact(session, actor, artifact_id)
    if found is None:
        raise NotFound("artifact.not_found")
    one, of_run, collector = found
    policy(actor, "artifact.read", of_run.host)
    suffix = {"gzip": ".gz", "zstd": ".zst"}.get(one.encoding, "")
    return one, f"{collector or 'artifact'}-{one.part}{suffix}"


def path(store: ArtifactStore, one: Artifact) -> Path:
    """Where its bytes are; raises Gone, NotFound or Conflict with what is wrong with them."""
    if one.removed_at is not None:
        raise Gone("artifact.removed", at=one.removed_at.date().isoformat())
    try:
        return store.path(one.sha256)
    except ArtifactMissing:
        raise NotFound("artifact.missing", sha256=one.sha256) from None
    except ArtifactAltered:
        raise Conflict("artifact.altered", sha256=one.sha256) from None


def lines(store: ArtifactStore, one: Artifact, first: int, count: int) -> Json:
    """A window of its lines."""
    part = StoredPart(one.sha256, one.size, path(store, one), cast(Encoding, one.encoding))
    try:
        found = window(part, first, min(count, MAX_COUNT))
    except ImportRefused as refused:
        raise Conflict("artifact.not_text", why=refused.sentence.key) from None
    return {"from": first, "total": found.total, "lines": found.lines}
