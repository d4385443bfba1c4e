"""What a place shows that somebody pins, read from Culprit's own data and never from what the client says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible_runs
from culprit.core.chunks import Damaged, decode
from culprit.core.stacks import View
from culprit.evidence import queries as evidence
from culprit.evidence import service as evidence_service
from culprit.incidents.given_pins import (
    ComparisonPin,
    FramePin,
    LinePin,
    LineRef,
    PinAdd,
    RangePin,
    RowPin,
    RowRef,
)
from culprit.infra.artifact_lines import MAX_COUNT
from culprit.infra.artifacts import ArtifactStore
from culprit.kit.errors import Conflict, CulpritError, Invalid
from culprit.models import Artifact, Capture, Profile, ResultTable, Run, RunCollector, SeriesChunk
from culprit.profiles import queries as profiles
from culprit.profiles import service as profiles_service

Json = dict[str, Any]
#: More lanes than anybody compares by eye; chunks of an hour are opened at most so often.
MAX_LANES = 20
MAX_CHUNKS = 400
#: Artifacts of one pin that are held against their digests; a run has fewer.
MAX_ARTIFACTS = 400


@dataclass(frozen=True, slots=True)
class Shown:
    """`said` is stored with the pin, `artifacts` are the digests of what it was read from."""

    said: Json
    hosts: tuple[UUID | None, ...]
    artifacts: tuple[str, ...] = ()


def shown(session: Session, actor: Actor, store: ArtifactStore, wanted: PinAdd) -> Shown:
    """What stands there. Raises Invalid for what does not exist (for this actor) and for a place that is none."""
    match wanted:
        case LinePin():
            return _lines(session, actor, store, wanted.ref)
        case RowPin():
            return _row(session, actor, wanted.ref)
        case FramePin():
            return _frame(session, actor, store, wanted)
        case RangePin():
            return _range(session, actor, wanted)
        case ComparisonPin():
            return _comparison(session, actor, wanted)


def _nothing(kind: str) -> Invalid:
    return Invalid("incident.pin_not_there", kind=kind)


def _lines(session: Session, actor: Actor, store: ArtifactStore, ref: LineRef) -> Shown:
    found = evidence.artifact(session, actor, ref.artifact_id)
    if found is None:
        raise _nothing("line")
    one, run, collector = found
    wanted = sorted(set(ref.lines))
    texts: dict[int, str] = {}
    for line in wanted:
        if line in texts:
            continue
        count = min(MAX_COUNT, wanted[-1] - line + 1)
        try:
            read = evidence_service.lines(store, one, line, count)["lines"]
        except Conflict:
            raise
        except CulpritError as error:
            raise _nothing("line") from error
        texts.update({line + n: text for n, text in enumerate(read)})
        if len(read) < count:
            break
    if any(line not in texts for line in wanted):
        raise _nothing("line")
    said = {
        "collected": True,
        "collector": collector,
        "part": one.part,
        "run_id": str(run.id),
        "lines": [
            {"n": line, "text": texts[line].replace("\0", "\N{REPLACEMENT CHARACTER}")} for line in wanted
        ],
    }
    return Shown(said, (run.host_id,), (one.sha256,))


def _row(session: Session, actor: Actor, ref: RowRef) -> Shown:
    query = (
        select(ResultTable, Run.host_id, Artifact.sha256, RunCollector.collector)
        .join(Run, Run.id == ResultTable.run_id)
        .outerjoin(Artifact, Artifact.id == ResultTable.artifact_id)
        .outerjoin(RunCollector, RunCollector.id == ResultTable.run_collector_id)
        .where(ResultTable.run_id == ref.run_id, visible_runs(actor))
        .order_by(ResultTable.id)
    )
    if ref.table_id is not None:
        query = query.where(ResultTable.id == ref.table_id)
    else:
        query = query.where(RunCollector.collector == ref.collector, ResultTable.kind == ref.kind)
    found = session.execute(query.limit(1)).first()
    if found is None or ref.row >= len(found[0].rows):
        raise _nothing("row")
    table, host_id, sha256, collector = found
    cells = [
        {"id": column["id"], "unit": column.get("unit", ""), "value": value}
        for column, value in zip(table.columns, table.rows[ref.row], strict=False)
    ]
    said = {
        "collected": True,
        "collector": collector,
        "kind": table.kind,
        "cells": cells,
        "line": table.lines[ref.row] if ref.row < len(table.lines) else None,
    }
    return Shown(said, (host_id,), (sha256,) if sha256 else ())


def _frame(session: Session, actor: Actor, store: ArtifactStore, wanted: FramePin) -> Shown:
    profile = profiles.profile(session, actor, wanted.ref.profile_id)
    if profile is None:
        raise _nothing("frame")
    view = profiles_service.view(store, profile, wanted.ref.filter.chosen())
    weight = _weight(view, wanted.ref.frames)
    if weight is None:
        raise _nothing("frame")
    raw = profiles.raw_artifact(session, profile)
    said = {
        "collected": view.weight > 0,
        "kind": profile.kind,
        "run_id": str(profile.run_id),
        "frame": wanted.ref.frames[-1],
        "share": weight / view.weight if view.weight else None,
        "weight": weight,
        "total": view.weight,
        "samples": view.samples,
        "unit": profile.unit,
        "lost": profile.lost,
    }
    return Shown(said, (profile.host_id,), (raw.sha256,) if raw else ())


def _weight(view: View, frames: Sequence[str]) -> int | None:
    """The weight below a stack from the root (which may be named or not); None where there is no such stack."""
    trie, names = view.profile.table.trie, view.profile.names
    if not len(trie):
        return None
    wanted = list(frames[1:] if frames[0] == names[trie.frame[0]] else frames)
    nodes = [0]
    for name in wanted:
        nodes = [
            child for node in nodes for child in _children(trie.end, node) if names[trie.frame[child]] == name
        ]
    return int(sum(view.total[node] for node in nodes)) if nodes else None


def _children(end: Any, node: int) -> list[int]:
    found, at, stop = [], node + 1, int(end[node])
    while at < stop:
        found.append(at)
        at = int(end[at])
    return found


def _range(session: Session, actor: Actor, wanted: RangePin) -> Shown:
    ref = wanted.ref
    run = session.scalar(select(Run).where(Run.id == ref.run_id, visible_runs(actor)))
    if run is None or run.host_id != ref.host_id or ref.to_ns <= ref.from_ns:
        raise _nothing("range")
    query = select(SeriesChunk).where(
        SeriesChunk.run_id == run.id,
        SeriesChunk.level == 0,
        SeriesChunk.t0_ns <= ref.to_ns,
        SeriesChunk.t1_ns >= ref.from_ns,
    )
    if not ref.metric:
        metrics = session.scalars(query.with_only_columns(SeriesChunk.metric).distinct()).all()
        said = {"collected": bool(metrics), "lanes": [], "metrics": len(metrics)}
        return Shown(said, (run.host_id,), _behind(session, query))
    query = query.where(SeriesChunk.metric == ref.metric)
    chunks = session.scalars(query.order_by(SeriesChunk.id).limit(MAX_CHUNKS)).all()
    lanes = [lane for one in chunks for lane in _columns(one, ref.from_ns, ref.to_ns)]
    said = {
        "collected": bool(lanes),
        "metric": ref.metric,
        "lanes": lanes[:MAX_LANES],
        "more": len(lanes) > MAX_LANES,
    }
    return Shown(said, (run.host_id,), _behind(session, query))


def _behind(session: Session, chunks: Select[SeriesChunk]) -> tuple[str, ...]:
    """The artifacts that these chunks were read from."""
    ids = chunks.with_only_columns(SeriesChunk.artifact_id)
    query = select(Artifact.sha256).where(Artifact.id.in_(ids)).distinct().order_by(Artifact.sha256)
    return tuple(session.scalars(query.limit(MAX_ARTIFACTS)))


def _columns(chunk: SeriesChunk, from_ns: int, to_ns: int) -> list[Json]:
    """The numbers of each column of a chunk within a time; columns without a reading there are left out."""
    try:
        rows = decode(chunk.data)
    except Damaged:
        return []
    within = (rows.start_ns >= from_ns) & (rows.start_ns <= to_ns)
    values = rows.mean[within]
    found = []
    for n, name in enumerate(chunk.axis_values or [""]):
        column = values[:, n][~np.isnan(values[:, n])]
        if len(column):
            found.append(
                {
                    "labels": chunk.labels,
                    "axis": name,
                    "n": len(column),
                    "min": float(column.min()),
                    "mean": float(column.mean()),
                    "max": float(column.max()),
                }
            )
    return found


def _comparison(session: Session, actor: Actor, wanted: ComparisonPin) -> Shown:
    left, right = wanted.ref.left, wanted.ref.right
    find = _runs if wanted.ref.what == "runs" else _profiles
    sides = find(session, actor, {left, right})
    if left not in sides or right not in sides:
        raise _nothing("comparison")
    both = [sides[one] for one in dict.fromkeys((left, right))]
    said = {
        "collected": all(one.collected for one in both),
        "what": wanted.ref.what,
        "left": sides[left].said,
        "right": sides[right].said,
    }
    artifacts = dict.fromkeys(each for one in both for each in one.artifacts)
    return Shown(said, tuple(dict.fromkeys(one.host for one in both)), tuple(artifacts)[:MAX_ARTIFACTS])


@dataclass(frozen=True, slots=True)
class _Side:
    said: Json
    host: UUID | None
    collected: bool
    artifacts: tuple[str, ...]


def _runs(session: Session, actor: Actor, ids: set[UUID]) -> dict[UUID, _Side]:
    rows = session.execute(
        select(Run.id, Run.host_id, Run.state, Run.t0_ns, Run.t1_ns, Capture.number, Capture.plan)
        .join(Capture, Capture.id == Run.capture_id)
        .where(Run.id.in_(ids), visible_runs(actor))
    )
    names = ("state", "t0_ns", "t1_ns", "number", "plan")
    return {
        row.id: _Side(
            {"run_id": str(row.id), **{name: getattr(row, name) for name in names}},
            row.host_id,
            row.t0_ns is not None,
            tuple(session.scalars(select(Artifact.sha256).where(Artifact.run_id == row.id).distinct())),
        )
        for row in rows.all()
    }


def _profiles(session: Session, actor: Actor, ids: set[UUID]) -> dict[UUID, _Side]:
    names = ("kind", "samples", "weight", "unit", "state")
    found = {}
    for row in session.scalars(profiles.profiles(actor).where(Profile.id.in_(ids))).all():
        raw = profiles.raw_artifact(session, row)
        said = {"run_id": str(row.run_id), **{name: getattr(row, name) for name in names}}
        found[row.id] = _Side(said, row.host_id, row.state == "ready", (raw.sha256,) if raw else ())
    return found
