"""Parse the stored artifacts of one run in the sandbox.

If the sandboxed child dies (out of memory, too slow, a defect), the collector that it was parsing is parsed once more,
alone. If the child dies again, that collector becomes `unreadable`, with the reason. The results of all other
collectors are kept.
"""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.registry import COLLECTORS
from culprit.domain.imports.file_kinds import PARSERS
from culprit.evidence.parsing import parse_collectors
from culprit.evidence.parsing.profile_tables import list_table_sources
from culprit.evidence.parsing.queries import list_collectors, list_latest_artifacts
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.sandbox.fork_server import ForkServer
from culprit.infra.sandbox.process import (
    SandboxExit,
    SandboxLimits,
    is_output,
    make_parser_server,
    open_output,
    run_in_sandbox,
)
from culprit.json_types import Json

MODULE = parse_collectors.__name__
LIMITS = SandboxLimits(address_space=1536 << 20, cpu_s=60, file_bytes=1 << 30, wall_s=90)
# How many times the artifacts of a collector can crash the child, and how many times a run can crash a worker.
MAX_CRASHES = 2
MAX_ATTEMPTS = 3
MAX_RESULT_BYTES = 16 << 20
MAX_CLOCK_BYTES = 1 << 20
READABLE_STATES = ("done", "failed", "timed_out", "unreadable")


@dataclass(frozen=True, slots=True)
class ParsedCollector:
    """The parse result of one collector (`parsed`, see `result_file`), or the reason of a failure."""

    run_collector_id: UUID
    parsed: Json
    artifacts: Mapping[str, UUID]
    blob: bytes
    parser_version: int
    failure: Json | None

    @property
    def reason(self) -> Json | None:
        """Return the message that explains why the collector is unreadable, or None if it is readable."""
        if self.failure is not None:
            return self.failure
        if self.parsed["readable"]:
            return None
        warnings: list[Json] = self.parsed["warnings"]
        return warnings[0] if warnings else {"key": "ingest.unreadable", "params": {}}


@dataclass(slots=True)
class ParseJob:
    """The artifacts of one collector to parse in the child.

    `request` is the part of the child's request, `crashes` counts how often the child crashed with it.
    """

    index: int
    run_collector_id: UUID
    collector: str
    request: Json
    artifacts: dict[str, UUID]
    crashes: int = 0


@dataclass(slots=True)
class ParseWork:
    """The parse jobs and results of one run, and the fencing token of the worker that owns it."""

    run_id: UUID
    fence: int
    clock: Json | None
    facts: Json
    jobs: list[ParseJob] = field(default_factory=list)
    results: list[ParsedCollector] = field(default_factory=list)


def collect_parse_jobs(
    session: Session,
    blobs: ArtifactStore,
    work: ParseWork,
    *,
    is_abandoned: bool = False,
    only: UUID | None = None,
) -> None:
    """Add a job to `work` for each collector with artifacts, or only for the one with the ID `only`.

    Collectors that cannot be parsed are added to the results as unreadable.
    """
    for index, item in enumerate(list_collectors(session, work.run_id, READABLE_STATES, only)):
        parts = list_latest_artifacts(session, item.id)
        if list_table_sources({part.part for part in parts}):
            # A redacted bundle has finished profiles and omits the recordings.
            parts = [part for part in parts if part.removed_at is None]
        if not parts:
            continue
        if is_abandoned:
            work.results.append(make_unreadable(item.id, "ingest.worker_died", attempts=MAX_ATTEMPTS))
            continue
        if item.collector not in COLLECTORS and item.collector not in PARSERS:
            work.results.append(
                make_unreadable(item.id, "ingest.unknown_collector", collector=item.collector)
            )
            continue
        try:
            paths = {part.part: str(blobs.path(part.sha256)) for part in parts}
        except (ArtifactMissingError, ArtifactAlteredError) as error:
            key = "artifact.missing" if isinstance(error, ArtifactMissingError) else "artifact.altered"
            work.results.append(make_unreadable(item.id, key, sha256=str(error)))
            continue
        request = {
            "index": index,
            "collector": item.collector,
            "method": item.method,
            "seconds": _compute_seconds(item),
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
        work.jobs.append(
            ParseJob(index, item.id, item.collector, request, {part.part: part.id for part in parts})
        )


def _compute_seconds(run_collector: RunCollector) -> float:
    return (
        (run_collector.ended_ns - run_collector.started_ns) / 1e9
        if run_collector.started_ns and run_collector.ended_ns
        else 0.0
    )


def make_unreadable(run_collector_id: UUID, key: str, **params: str | int) -> ParsedCollector:
    """Return the parse result for bytes that cannot be parsed."""
    return ParsedCollector(run_collector_id, {}, {}, b"", 0, {"key": key, "params": params})


def parse_all(work: ParseWork, directory: Path, limits: SandboxLimits) -> None:
    """Parse all jobs in sandboxed children, as many jobs per child as possible."""
    waiting = list(work.jobs)
    while waiting:
        # Input that crashed a child before is parsed alone, after all others.
        suspects = [job for job in waiting if job.crashes]
        batch = [job for job in waiting if not job.crashes] or suspects[:1]
        ended = run_in_sandbox(
            MODULE,
            {"clock": work.clock, "facts": work.facts, "jobs": [job.request for job in batch]},
            directory,
            limits,
            inputs=[part["path"] for job in batch for part in job.request["parts"].values()],
            server=_get_parser_server(os.getpid()),
        )
        work.clock = _load_clock(directory) or work.clock
        read = [job for job in batch if is_output(directory / f"{job.index}.json")]
        work.results.extend(_load_result(job, directory) for job in read)
        for job in read:
            waiting.remove(job)
        unread = [job for job in batch if job not in read]
        if unread:
            crashed = _find_crashed_job(unread, directory)
            crashed.crashes += 1
            if crashed.crashes >= MAX_CRASHES:
                waiting.remove(crashed)
                work.results.append(_mark_crashed(crashed, ended, limits))


@lru_cache(maxsize=1)
def _get_parser_server(_owner: int) -> ForkServer:
    """Return the server of the process `_owner`; a forked process does not use that of its parent."""
    server = make_parser_server([MODULE])
    atexit.register(server.stop)
    return server


def _load_clock(directory: Path) -> Json | None:
    """Return the clock that the child refined with a perf reference, or None."""
    try:
        with open_output(directory / "clock.json") as stream:
            clock: Json = json.loads(stream.read(MAX_CLOCK_BYTES))
    except FileNotFoundError:
        return None
    return clock


def _find_crashed_job(unread: list[ParseJob], directory: Path) -> ParseJob:
    """Return the job during which the child crashed; without a record, the first unfinished job."""
    try:
        with open_output(directory / "current") as stream:
            index = int(stream.read(20))
    except (OSError, ValueError):
        return unread[0]
    return next((job for job in unread if job.index == index), unread[0])


def _mark_crashed(job: ParseJob, ended: SandboxExit, limits: SandboxLimits) -> ParsedCollector:
    params: Mapping[str, str | int] = {
        "out_of_memory": {"limit_mb": limits.address_space >> 20},
        "too_slow": {"limit_s": int(limits.wall_s)},
        "too_large": {"limit_mb": limits.file_bytes >> 20},
    }.get(ended.verdict, {"error": ended.stderr.strip().rpartition("\n")[2][:300]})
    return make_unreadable(job.run_collector_id, f"ingest.{ended.verdict}", attempts=job.crashes, **params)


def _refuse_constant(name: str) -> float:
    raise ValueError(name)  # NaN and Infinity are not valid JSON, and JSONB rejects them


def _load_result(job: ParseJob, directory: Path) -> ParsedCollector:
    """Read the result of one job. It is untrusted, so its size is limited and non-finite numbers are rejected."""
    with open_output(directory / f"{job.index}.json") as stream:
        data = stream.read(MAX_RESULT_BYTES + 1)
    if len(data) > MAX_RESULT_BYTES:
        return make_unreadable(job.run_collector_id, "ingest.too_large", limit_mb=MAX_RESULT_BYTES >> 20)
    with open_output(directory / f"{job.index}.blob") as stream:
        blob = stream.read(LIMITS.file_bytes)
    version = COLLECTORS[job.collector].parser_version if job.collector in COLLECTORS else 1
    try:
        parsed = json.loads(data, parse_constant=_refuse_constant)
    except ValueError:
        return make_unreadable(job.run_collector_id, "ingest.not_storable")
    return ParsedCollector(job.run_collector_id, parsed, job.artifacts, blob, version, None)
