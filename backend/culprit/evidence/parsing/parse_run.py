"""Parse the stored artifacts of one run in the sandbox.

A child that dies (out of memory, too slow, a defect) costs the collector that it was parsing. That one is tried once
more alone and is then `unreadable`, with the reason. All others are kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from collectors.registry import COLLECTORS
from culprit.imports.sources import PARSERS
from culprit.infra.artifacts import ArtifactAltered, ArtifactMissing, ArtifactStore
from culprit.infra.bounded import Ended, Limits, is_output, open_output, run_confined
from culprit.models import Artifact, RunCollector
from culprit.workflows import confined_ingest

MODULE = confined_ingest.__name__
LIMITS = Limits(address_space=1536 << 20, cpu_s=60, file_bytes=1 << 30, wall_s=90)
# How often one collector's bytes may kill a child, and how often one run may kill a whole worker.
MAX_DEATHS = 2
MAX_ATTEMPTS = 3
MAX_RESULT_BYTES = 16 << 20
MAX_CLOCK_BYTES = 1 << 20
READABLE_STATES = ("done", "failed", "timed_out", "unreadable")
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one collector's bytes yielded (`parsed`, see `parsed_form`), or why nothing."""

    run_collector_id: UUID
    parsed: Json
    artifacts: Mapping[str, UUID]
    blob: bytes
    parser_version: int
    failure: Json | None

    @property
    def reason(self) -> Json | None:
        """Why it is unreadable, as a sentence; None where it could be read."""
        if self.failure is not None:
            return self.failure
        if self.parsed["readable"]:
            return None
        warnings: list[Json] = self.parsed["warnings"]
        return warnings[0] if warnings else {"key": "ingest.unreadable", "params": {}}


@dataclass(slots=True)
class Job:
    """One collector's bytes on their way through the child."""

    place: int
    run_collector_id: UUID
    collector: str
    order: Json
    artifacts: dict[str, UUID]
    deaths: int = 0


@dataclass(slots=True)
class Work:
    """All that one run has to read, and under which fence."""

    run_id: UUID
    fence: int
    clock: Json | None
    facts: Json
    jobs: list[Job] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)


def gather(
    session: Session, blobs: ArtifactStore, work: Work, *, given_up: bool = False, only: UUID | None = None
) -> None:
    """The collectors whose bytes are there (or that one), as jobs; those that cannot be read at all, as readings."""
    query = select(RunCollector).where(
        RunCollector.run_id == work.run_id, RunCollector.state.in_(READABLE_STATES)
    )
    if only is not None:
        query = query.where(RunCollector.id == only)
    for place, one in enumerate(session.scalars(query.order_by(RunCollector.id)).all()):
        parts = latest_parts(session, one.id)
        if not parts:
            continue
        if given_up:
            work.readings.append(unreadable(one.id, "ingest.worker_died", attempts=MAX_ATTEMPTS))
            continue
        if one.collector not in COLLECTORS and one.collector not in PARSERS:
            work.readings.append(unreadable(one.id, "ingest.unknown_collector", collector=one.collector))
            continue
        try:
            paths = {part.part: str(blobs.path(part.sha256)) for part in parts}
        except (ArtifactMissing, ArtifactAltered) as error:
            key = "artifact.missing" if isinstance(error, ArtifactMissing) else "artifact.altered"
            work.readings.append(unreadable(one.id, key, sha256=str(error)))
            continue
        order = {
            "place": place,
            "collector": one.collector,
            "way": one.way,
            "seconds": _seconds(one),
            "parts": {
                part.part: {
                    "sha256": part.sha256,
                    "size": part.size,
                    "encoding": part.encoding,
                    "path": paths[part.part],
                }
                for part in parts
            },
        }
        work.jobs.append(Job(place, one.id, one.collector, order, {part.part: part.id for part in parts}))


def latest_parts(session: Session, run_collector_id: UUID) -> list[Artifact]:
    """The parts that the last attempt brought home; those of earlier ones are kept, but not read."""
    rows = session.scalars(
        select(Artifact).where(Artifact.run_collector_id == run_collector_id).order_by(Artifact.id)
    ).all()
    last = max((row.attempt for row in rows), default=0)
    return [row for row in rows if row.attempt == last]


def _seconds(one: RunCollector) -> float:
    return (one.ended_ns - one.started_ns) / 1e9 if one.started_ns and one.ended_ns else 0.0


def unreadable(run_collector_id: UUID, key: str, **params: str | int) -> Reading:
    """The reading of bytes that nobody could read."""
    return Reading(run_collector_id, {}, {}, b"", 0, {"key": key, "params": params})


def read_all(work: Work, directory: Path, limits: Limits) -> None:
    """Have every job read, in as few children as it takes."""
    waiting = list(work.jobs)
    while waiting:
        # Whoever killed a child before is read alone, after all others.
        suspects = [job for job in waiting if job.deaths]
        batch = [job for job in waiting if not job.deaths] or suspects[:1]
        ended = run_confined(
            MODULE,
            {"clock": work.clock, "facts": work.facts, "jobs": [job.order for job in batch]},
            directory,
            limits,
            inputs=[part["path"] for job in batch for part in job.order["parts"].values()],
        )
        work.clock = _clock(directory) or work.clock
        read = [job for job in batch if is_output(directory / f"{job.place}.json")]
        work.readings.extend(_collect(job, directory) for job in read)
        for job in read:
            waiting.remove(job)
        unread = [job for job in batch if job not in read]
        if unread:
            guilty = _guilty(unread, directory)
            guilty.deaths += 1
            if guilty.deaths >= MAX_DEATHS:
                waiting.remove(guilty)
                work.readings.append(_dead(guilty, ended, limits))


def _clock(directory: Path) -> Json | None:
    """The clock that perf has made narrower, where it has."""
    try:
        with open_output(directory / "clock.json") as stream:
            clock: Json = json.loads(stream.read(MAX_CLOCK_BYTES))
    except FileNotFoundError:
        return None
    return clock


def _guilty(unread: list[Job], directory: Path) -> Job:
    """Whom the child was reading when it died; where it says nothing, the first that it should have read."""
    try:
        with open_output(directory / "current") as stream:
            place = int(stream.read(20))
    except (OSError, ValueError):
        return unread[0]
    return next((job for job in unread if job.place == place), unread[0])


def _dead(job: Job, ended: Ended, limits: Limits) -> Reading:
    params: Mapping[str, str | int] = {
        "out_of_memory": {"limit_mb": limits.address_space >> 20},
        "too_slow": {"limit_s": int(limits.wall_s)},
        "too_large": {"limit_mb": limits.file_bytes >> 20},
    }.get(ended.verdict, {"said": ended.stderr.strip().rpartition("\n")[2][:300]})
    return unreadable(job.run_collector_id, f"ingest.{ended.verdict}", attempts=job.deaths, **params)


def _refuse_constant(name: str) -> float:
    raise ValueError(name)  # NaN and Infinity are no JSON, and JSONB takes neither


def _collect(job: Job, directory: Path) -> Reading:
    """What the child left about one collector. It is as hostile as what it was made of, but it is bounded."""
    with open_output(directory / f"{job.place}.json") as stream:
        data = stream.read(MAX_RESULT_BYTES + 1)
    if len(data) > MAX_RESULT_BYTES:
        return unreadable(job.run_collector_id, "ingest.too_large", limit_mb=MAX_RESULT_BYTES >> 20)
    with open_output(directory / f"{job.place}.blob") as stream:
        blob = stream.read(LIMITS.file_bytes)
    version = COLLECTORS[job.collector].parser_version if job.collector in COLLECTORS else 1
    try:
        parsed = json.loads(data, parse_constant=_refuse_constant)
    except ValueError:
        return unreadable(job.run_collector_id, "ingest.not_storable")
    return Reading(job.run_collector_id, parsed, job.artifacts, blob, version, None)
