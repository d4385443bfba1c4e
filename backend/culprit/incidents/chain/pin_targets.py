"""Resolve pins: read their content from Culprit's own data, never from the request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.domain.profiles.stacks import ProfileView
from culprit.domain.series.chunks import DamagedChunkError, decode_rows
from culprit.evidence.profiles import queries as profiles
from culprit.evidence.profiles import service as profiles_service
from culprit.evidence.runs import queries as evidence
from culprit.evidence.runs import service as evidence_service
from culprit.incidents.chain import queries
from culprit.incidents.records.pin_requests import (
    ComparisonPin,
    FramePin,
    LinePin,
    LineRef,
    PinCreate,
    RangePin,
    RowPin,
    RowRef,
)
from culprit.infra.artifacts.lines import MAX_COUNT
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.json_types import Json
from culprit.web.errors import ConflictError, CulpritError, InvalidRequestError

#: Maximum number of series in a snapshot, and of chunks that are read for it.
MAX_SERIES = 20
MAX_CHUNKS = 400
#: Maximum number of cited artifacts of one pin; a run has fewer.
MAX_ARTIFACTS = 400


@dataclass(frozen=True, slots=True)
class PinTarget:
    """The target of a pin: the snapshot to store, the hosts, and the SHA-256 of the cited artifacts."""

    snapshot: Json
    hosts: tuple[UUID | None, ...]
    artifacts: tuple[str, ...] = ()


def resolve_pin(session: Session, actor: Actor, store: ArtifactStore, pin_create: PinCreate) -> PinTarget:
    """Return the target of a pin, or raise InvalidRequestError if it does not exist or is not visible."""
    match pin_create:
        case LinePin():
            return _resolve_lines(session, actor, store, pin_create.ref)
        case RowPin():
            return _resolve_row(session, actor, pin_create.ref)
        case FramePin():
            return _resolve_frame(session, actor, store, pin_create)
        case RangePin():
            return _resolve_range(session, actor, pin_create)
        case ComparisonPin():
            return _resolve_comparison(session, actor, pin_create)


def _build_missing_error(kind: str) -> InvalidRequestError:
    return InvalidRequestError("incident.pin_not_there", kind=kind)


def _resolve_lines(session: Session, actor: Actor, store: ArtifactStore, ref: LineRef) -> PinTarget:
    artifact = evidence.find_artifact(session, actor, ref.artifact_id)
    if artifact is None:
        raise _build_missing_error("line")
    item, run, collector = artifact
    lines = sorted(set(ref.lines))
    texts: dict[int, str] = {}
    for line in lines:
        if line in texts:
            continue
        count = min(MAX_COUNT, lines[-1] - line + 1)
        try:
            read = evidence_service.read_lines(store, item, line, count)["lines"]
        except ConflictError:
            raise
        except CulpritError as error:
            raise _build_missing_error("line") from error
        texts.update({line + n: text for n, text in enumerate(read)})
        if len(read) < count:
            break
    if any(line not in texts for line in lines):
        raise _build_missing_error("line")
    snapshot = {
        "collected": True,
        "collector": collector,
        "part": item.part,
        "run_id": str(run.id),
        "lines": [
            {"number": line, "text": texts[line].replace("\0", "\N{REPLACEMENT CHARACTER}")} for line in lines
        ],
    }
    return PinTarget(snapshot, (run.host_id,), (item.sha256,))


def _resolve_row(session: Session, actor: Actor, ref: RowRef) -> PinTarget:
    row = queries.find_table(
        session, actor, ref.run_id, table_id=ref.table_id, collector=ref.collector, kind=ref.kind
    )
    if row is None or ref.row >= len(row[0].rows):
        raise _build_missing_error("row")
    table, host_id, sha256, collector = row
    cells = [
        {"id": column["id"], "unit": column.get("unit", ""), "value": value}
        for column, value in zip(table.columns, table.rows[ref.row], strict=False)
    ]
    snapshot = {
        "collected": True,
        "collector": collector,
        "kind": table.kind,
        "cells": cells,
        "line": table.lines[ref.row] if ref.row < len(table.lines) else None,
    }
    return PinTarget(snapshot, (host_id,), (sha256,) if sha256 else ())


def _resolve_frame(session: Session, actor: Actor, store: ArtifactStore, frame_pin: FramePin) -> PinTarget:
    profile = profiles.find_profile(session, actor, frame_pin.ref.profile_id)
    if profile is None:
        raise _build_missing_error("frame")
    view = profiles_service.load_view(store, profile, frame_pin.ref.filter.to_filter())
    weight = _find_weight(view, frame_pin.ref.frames)
    if weight is None:
        raise _build_missing_error("frame")
    raw = profiles.find_raw_artifact(session, profile)
    snapshot = {
        "collected": view.weight > 0,
        "kind": profile.kind,
        "run_id": str(profile.run_id),
        "frame": frame_pin.ref.frames[-1],
        "share": weight / view.weight if view.weight else None,
        "weight": weight,
        "total": view.weight,
        "samples": view.samples,
        "unit": profile.unit,
        "lost": profile.lost,
    }
    return PinTarget(snapshot, (profile.host_id,), (raw.sha256,) if raw else ())


def _find_weight(view: ProfileView, frames: Sequence[str]) -> int | None:
    """Return the weight of a stack; None without such a stack. The name of the root is optional."""
    trie, names = view.profile.table.trie, view.profile.names
    if not len(trie):
        return None
    path = list(frames[1:] if frames[0] == names[trie.frame[0]] else frames)
    nodes = [0]
    for name in path:
        nodes = [
            child
            for node in nodes
            for child in _list_children(trie.end, node)
            if names[trie.frame[child]] == name
        ]
    return int(sum(view.total[node] for node in nodes)) if nodes else None


def _list_children(end: Any, node: int) -> list[int]:
    result, at, stop = [], node + 1, int(end[node])
    while at < stop:
        result.append(at)
        at = int(end[at])
    return result


def _resolve_range(session: Session, actor: Actor, range_pin: RangePin) -> PinTarget:
    ref = range_pin.ref
    run = queries.find_visible_run(session, actor, ref.run_id)
    if run is None or run.host_id != ref.host_id or ref.to_ns <= ref.from_ns:
        raise _build_missing_error("range")
    query = queries.select_chunks(run.id, ref.from_ns, ref.to_ns)
    if ref.metric:
        query = query.where(SeriesChunk.metric == ref.metric)
    digests = tuple(queries.list_chunk_digests(session, query, MAX_ARTIFACTS))
    if not ref.metric:
        metrics = queries.list_metrics(session, query)
        snapshot = {"collected": bool(metrics), "series": [], "metrics": len(metrics)}
        return PinTarget(snapshot, (run.host_id,), digests)
    chunks = session.scalars(query.order_by(SeriesChunk.id).limit(MAX_CHUNKS)).all()
    series = [column for chunk in chunks for column in _summarize_columns(chunk, ref.from_ns, ref.to_ns)]
    snapshot = {
        "collected": bool(series),
        "metric": ref.metric,
        "series": series[:MAX_SERIES],
        "truncated": len(series) > MAX_SERIES,
    }
    return PinTarget(snapshot, (run.host_id,), digests)


def _summarize_columns(chunk: SeriesChunk, from_ns: int, to_ns: int) -> list[Json]:
    """Return the statistics of each column of a chunk within a time range, without empty columns."""
    try:
        rows = decode_rows(chunk.data)
    except DamagedChunkError:
        return []
    within = (rows.start_ns >= from_ns) & (rows.start_ns <= to_ns)
    values = rows.mean[within]
    results = []
    for n, name in enumerate(chunk.axis_values or [""]):
        column = values[:, n][~np.isnan(values[:, n])]
        if len(column):
            results.append(
                {
                    "labels": chunk.labels,
                    "axis": name,
                    "sample_count": len(column),
                    "min": float(column.min()),
                    "mean": float(column.mean()),
                    "max": float(column.max()),
                }
            )
    return results


def _resolve_comparison(session: Session, actor: Actor, comparison_pin: ComparisonPin) -> PinTarget:
    left, right = comparison_pin.ref.left, comparison_pin.ref.right
    find = _resolve_runs if comparison_pin.ref.what == "runs" else _resolve_profiles
    sides = find(session, actor, {left, right})
    if left not in sides or right not in sides:
        raise _build_missing_error("comparison")
    both = [sides[item] for item in dict.fromkeys((left, right))]
    snapshot = {
        "collected": all(item.collected for item in both),
        "what": comparison_pin.ref.what,
        "left": sides[left].snapshot,
        "right": sides[right].snapshot,
    }
    artifacts = dict.fromkeys(each for item in both for each in item.artifacts)
    return PinTarget(
        snapshot, tuple(dict.fromkeys(item.host for item in both)), tuple(artifacts)[:MAX_ARTIFACTS]
    )


@dataclass(frozen=True, slots=True)
class _Side:
    snapshot: Json
    host: UUID | None
    collected: bool
    artifacts: tuple[str, ...]


def _resolve_runs(session: Session, actor: Actor, ids: set[UUID]) -> dict[UUID, _Side]:
    names = ("state", "t0_ns", "t1_ns", "number", "plan")
    return {
        row.id: _Side(
            {"run_id": str(row.id), **{name: getattr(row, name) for name in names}},
            row.host_id,
            row.t0_ns is not None,
            tuple(queries.list_run_digests(session, row.id)),
        )
        for row in queries.list_visible_runs(session, actor, ids)
    }


def _resolve_profiles(session: Session, actor: Actor, ids: set[UUID]) -> dict[UUID, _Side]:
    names = ("kind", "samples", "weight", "unit", "state")
    results = {}
    for row in session.scalars(profiles.profiles_query(actor).where(Profile.id.in_(ids))).all():
        raw = profiles.find_raw_artifact(session, row)
        snapshot = {"run_id": str(row.run_id), **{name: getattr(row, name) for name in names}}
        results[row.id] = _Side(snapshot, row.host_id, row.state == "ready", (raw.sha256,) if raw else ())
    return results
