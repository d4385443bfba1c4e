"""From stored artifacts to series, events, tables and profiles: the task `culprit.ingest_run`.

May run twice, and again later with newer parsers: what was read of a run before is replaced in one go.
Parsing happens in a confined child. A child that dies (out of memory, too slow, a bug) costs the collector
that it was at: that one is tried once more alone, and then is `unreadable` with the reason; the others come
home.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy import exists, func, select, update
from sqlalchemy.exc import DataError
from sqlalchemy.orm import Session

from collectors.registry import COLLECTORS
from culprit.config import settings
from culprit.imports.sources import PARSERS
from culprit.infra.artifacts import ArtifactAltered, ArtifactMissing, ArtifactStore, artifact_store
from culprit.infra.bounded import Ended, Limits, is_output, open_output, run_confined, workspace
from culprit.infra.db import Database, database
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Artifact, Removal, Run, RunCollector
from culprit.workflows import confined_ingest
from culprit.workflows.store_parsed import Reading, store

MODULE = confined_ingest.__name__
LIMITS = Limits(address_space=1536 << 20, cpu_s=60, file_bytes=1 << 30, wall_s=90)
# How often one collector's bytes may kill a child, and how often one run may kill a whole worker.
MAX_DEATHS = 2
MAX_ATTEMPTS = 3
MAX_RESULT_BYTES = 16 << 20
MAX_CLOCK_BYTES = 1 << 20
READABLE_STATES = ("done", "failed", "timed_out", "unreadable")
#: What a reading raises that the database cannot hold; it is no fault of the worker.
UNSTORABLE = (DataError, ValueError, ArithmeticError)
Json = dict[str, Any]
log = structlog.get_logger("culprit.ingest_run")


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


def ingest_run(run_id: UUID, *, again: bool = False) -> str | None:
    """Read one run and end it. Returns its state, None where there was nothing to do.

    `again` reads a run once more that has already ended, for newer parsers; its state stays.
    """
    db, blobs = database(), artifact_store()
    work = _begin(db, blobs, run_id, again)
    if work is None:
        return None
    with workspace(settings().home / "work") as directory:
        read_all(work, directory, LIMITS)
        return _store(db, work, again=again)


def _store(db: Database, work: Work, *, again: bool) -> str | None:
    """Store all readings; one that the database cannot hold costs its own collector, and no second attempt."""

    def attempt(readings: list[Reading], *, keep: bool = True) -> str | None:
        with unit_of_work(db.sessions) as session:
            state = store(session, work.run_id, work.fence, readings, clock=work.clock, again=again)
            if not keep:
                session.flush()
                raise _TriedOnly
            return state

    try:
        return attempt(work.readings)
    except UNSTORABLE as error:
        log.error("reading_not_storable", run=str(work.run_id), error=type(error).__name__, exc_info=True)
    readings: list[Reading] = []
    for reading in work.readings:
        try:
            attempt([reading], keep=False)
        except _TriedOnly:
            readings.append(reading)
        except UNSTORABLE:
            readings.append(unreadable(reading.run_collector_id, "ingest.not_storable"))
    return attempt(readings)


class _TriedOnly(Exception):
    """What was written is to be rolled back."""


def _begin(db: Database, blobs: ArtifactStore, run_id: UUID, again: bool) -> Work | None:
    with unit_of_work(db.sessions) as session:
        if again and session.scalar(select(exists().where(Removal.run_id == run_id))):
            return None  # what was deleted cannot be read again, and what was read of it would be lost
        wanted = RUN_DONE if again else ("ingesting",)
        row = session.execute(
            update(Run)
            .where(Run.id == run_id, Run.state.in_(wanted))
            .values(ingest_attempts=1 if again else Run.ingest_attempts + 1, heartbeat_at=func.now())
            .returning(Run.fence, Run.clock, Run.facts, Run.ingest_attempts)
            .execution_options(synchronize_session=False)
        ).first()
        if row is None:
            return None
        work = Work(run_id, row.fence, row.clock, row.facts or {})
        gather(session, blobs, work, given_up=row.ingest_attempts > MAX_ATTEMPTS)
        return work


RUN_DONE = ("done", "partial", "failed", "cancelled", "expired")


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
