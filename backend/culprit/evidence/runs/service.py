"""Build the answers about runs and artifacts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.metrics.registry import METRICS
from collectors.profiles.limits import Encoding, ImportRefusedError
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.series.chunks import decode_summary
from culprit.domain.series.rollup import SummaryRow, combine_rows
from culprit.evidence.runs import queries
from culprit.evidence.runs.schemas import (
    ArtifactResponse,
    CollectorWarningResponse,
    RemovalResponse,
    ResultTableResponse,
    RunCaptureRef,
    RunClockResponse,
    RunCollectorResponse,
    RunProfileResponse,
    RunResponse,
)
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.lines import MAX_COUNT, read_line_range
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.artifacts.stored_part import StoredPart
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.json_types import Json
from culprit.web.errors import ConflictError, GoneError, NotFoundError
from culprit.web.schemas import HostRef


def get_run(session: Session, actor: Actor, run_id: UUID) -> tuple[Run, Capture]:
    """Return a run with its capture, or raise NotFoundError."""
    authorize(actor, "capture.read")
    run = queries.find_run(session, actor, run_id)
    if run is None:
        raise NotFoundError("run.not_found")
    return run


def build_run_response(session: Session, actor: Actor, run_id: UUID) -> RunResponse:
    """Return a run without its series and events, or raise NotFoundError."""
    result, capture = get_run(session, actor, run_id)
    names = {collector.id: collector.collector for collector in result.collectors}
    seconds = (
        (result.ended_at - result.started_at).total_seconds()
        if result.ended_at and result.started_at
        else None
    )
    plain = {
        name: getattr(result, name)
        for name in RunResponse.model_fields.keys() & set(Run.__table__.columns.keys())
        if name not in {"clock"}
    }
    return RunResponse(
        **plain,
        host=HostRef(id=result.host.id, name=result.host.name) if result.host else None,
        seconds=round(seconds, 3) if seconds is not None else None,
        capture=RunCaptureRef(
            id=capture.id,
            number=capture.number,
            plan=capture.plan,
            source=capture.source,
            reason=capture.reason,
        ),
        clock=_build_clock(result.clock),
        collectors=[_build_collector(collector) for collector in result.collectors],
        artifacts=[
            ArtifactResponse(
                **{n: getattr(artifact, n) for n in ArtifactResponse.model_fields if n != "collector"},
                collector=names.get(artifact.run_collector_id) if artifact.run_collector_id else None,
            )
            for artifact in queries.list_artifacts(session, run_id)
        ],
        profiles=[
            RunProfileResponse(**{n: getattr(profile, n) for n in RunProfileResponse.model_fields})
            for profile in queries.list_profiles(session, run_id)
        ],
        tables=[
            ResultTableResponse(
                kind=table.kind,
                collector=names.get(table.run_collector_id) if table.run_collector_id else None,
                columns=table.columns,
                rows=table.rows,
                lines=table.lines,
                artifact_id=table.artifact_id,
            )
            for table in queries.list_tables(session, run_id)
        ],
        removals=[
            RemovalResponse(kind=removal.kind, at=removal.at, items=removal.items, bytes=removal.bytes)
            for removal in queries.list_removals(session, run_id)
        ],
        warnings=[
            CollectorWarningResponse(collector=collector.collector, warning=warning)
            for collector in result.collectors
            for warning in collector.warnings
        ],
    )


def _build_clock(stored: Json | None) -> RunClockResponse | None:
    """Return the clock of a run in milliseconds."""
    if stored is None:
        return None
    uncertainty = stored.get("uncertainty_ms")
    if uncertainty is None and stored.get("uncertainty_ns") is not None:
        uncertainty = stored["uncertainty_ns"] / 1e6
    return RunClockResponse(
        offset_ms=stored.get("offset_ms"),
        uncertainty_ms=uncertainty,
        source=stored.get("source"),
        steps=stored.get("steps") or [],
        server_offset_ns=stored.get("server_offset_ns"),
        server_uncertainty_ns=stored.get("server_uncertainty_ns"),
        records=stored.get("records") or [],
        perf_reference=stored.get("perf_reference") or {},
    )


def _build_collector(run_collector: RunCollector) -> RunCollectorResponse:
    took = (
        run_collector.ended_ns - run_collector.started_ns
        if run_collector.ended_ns and run_collector.started_ns
        else None
    )
    names = RunCollectorResponse.model_fields.keys() - {"id", "seconds", "progress"}
    return RunCollectorResponse(
        **{name: getattr(run_collector, name) for name in names},
        id=run_collector.collector,
        seconds=round(took / 1e9, 3) if took is not None else None,
    )


def list_series(session: Session, actor: Actor, run_id: UUID) -> list[Json]:
    """Summarize every series of a run over all columns and the whole time."""
    get_run(session, actor, run_id)
    grouped: dict[tuple[str, str], list[Any]] = {}
    for row in queries.list_chunk_summaries(session, run_id):
        grouped.setdefault((row.metric, repr(sorted(row.labels.items()))), []).append(row)
    return [_summarize_series(rows) for rows in grouped.values()]


def _summarize_series(rows: list[Any]) -> Json:
    first = rows[0]
    metric = METRICS.get(first.metric)
    total = combine_rows([SummaryRow(tuple(r.axis_values or ("",)), decode_summary(r.summary)) for r in rows])
    assert total is not None
    low, mean, high, count = (plane.tolist() for plane in total.planes)
    weight = sum(count)
    return {
        "metric": first.metric,
        "labels": first.labels,
        "axis": first.axis,
        "axis_values": list(total.columns) if first.axis is not None else None,
        "unit": metric.unit if metric else "",
        "sample_count": sum(row.n for row in rows),
        "min": min((v for v, c in zip(low, count, strict=True) if c), default=None),
        "mean": sum(m * c for m, c in zip(mean, count, strict=True) if c) / weight if weight else None,
        "max": max((v for v, c in zip(high, count, strict=True) if c), default=None),
        "t0_ns": min(row.t0_ns for row in rows),
        "t1_ns": max(row.t1_ns for row in rows),
    }


def list_events(session: Session, actor: Actor, run_id: UUID) -> list[Json]:
    """Return the events of a run."""
    get_run(session, actor, run_id)
    names = (
        "id", "t_ns", "end_ns", "uncertainty_ns", "kind", "severity", "title", "detail",
        "artifact_id", "line",
    )  # fmt: skip
    return [{name: getattr(event, name) for name in names} for event in queries.list_events(session, run_id)]


def get_artifact(session: Session, actor: Actor, artifact_id: UUID) -> tuple[Artifact, str]:
    """Return an artifact that the actor may download, and a file name for it."""
    artifact = queries.find_artifact(session, actor, artifact_id)
    if artifact is None:
        raise NotFoundError("artifact.not_found")
    item, of_run, collector = artifact
    authorize(actor, "artifact.read", of_run.host)
    suffix = {"gzip": ".gz", "zstd": ".zst"}.get(item.encoding, "")
    return item, f"{collector or 'artifact'}-{item.part}{suffix}"


def get_artifact_path(store: ArtifactStore, artifact: Artifact) -> Path:
    """Return the path of an artifact's bytes.

    Raises GoneError if they were deleted, NotFoundError if they are missing, ConflictError if they were altered.
    """
    if artifact.removed_at is not None:
        raise GoneError("artifact.removed", at=artifact.removed_at.date().isoformat())
    try:
        return store.path(artifact.sha256)
    except ArtifactMissingError:
        raise NotFoundError("artifact.missing", sha256=artifact.sha256) from None
    except ArtifactAlteredError:
        raise ConflictError("artifact.altered", sha256=artifact.sha256) from None


def read_lines(store: ArtifactStore, artifact: Artifact, first: int, count: int) -> Json:
    """Return `count` lines of an artifact from line `first` on. Raises ConflictError if it is not text."""
    part = StoredPart(
        artifact.sha256, artifact.size, get_artifact_path(store, artifact), cast(Encoding, artifact.encoding)
    )
    try:
        result = read_line_range(part, first, min(count, MAX_COUNT))
    except ImportRefusedError as refused:
        raise ConflictError("artifact.not_text", why=refused.sentence.key) from None
    return {"from": first, "total": result.total, "lines": result.lines}
