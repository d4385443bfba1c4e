"""The job that requests the symbols of stripped programs from debuginfod servers.

It runs after the symbols of a run were fetched from its host, as its collector `debug_files`, if an admin has allowed a
server. Only build IDs are sent. Profiles are built afterwards, even if it fails.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.runner.symbols import name_blocks_part, name_debug_key
from culprit.domain.profiles import debug_files
from culprit.domain.profiles.debug_files import DebugAnswer, describe_answers
from culprit.evidence.parsing import debug_files as parser
from culprit.evidence.symbols import debuginfod_queries, queries
from culprit.evidence.symbols.debug_search import BuildIdAnswer, DebugSearch, SearchLimits, SearchResult
from culprit.evidence.symbols.debuginfod import DebuginfodSource, load_sources
from culprit.evidence.symbols.debuginfod_queries import ArtifactRef
from culprit.evidence.symbols.requests import READER, list_keys, list_programs
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.store import ArtifactStore, artifact_store
from culprit.infra.db.session import Database, get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.debug_file import DebugFile
from culprit.infra.sandbox.process import SandboxLimits, create_workspace, open_output, run_in_sandbox
from culprit.infra.settings import get_settings
from culprit.jobs.ingest.fetched_artifacts import parse_stored_artifacts
from culprit.jobs.ingest.plan_symbols import enqueue_builds
from culprit.jobs.ingest.queries import list_profiles
from culprit.jobs.ingest.store_run import add_readings
from culprit.jobs.job import Job
from culprit.json_types import Json

LIMITS = SandboxLimits(address_space=1 << 30, cpu_s=30, file_bytes=2 << 30, wall_s=60)
MAX_RESULT_BYTES = 1 << 20
SEARCH = SearchLimits()


@dataclass(frozen=True, slots=True)
class DebugFetchPlan:
    """The servers to request, and the programs of a run that may be stripped.

    `programs` are parts with their blocks by key, as the sandboxed process gets them, those with the most samples
    first.
    """

    run_collector_id: UUID
    sources: list[DebuginfodSource]
    programs: dict[str, Json] = field(default_factory=dict)


def fetch_debug_files(run_id: UUID) -> str | None:
    """Request the symbols of a run's stripped programs. Return the state of the collector, or None if there is none."""
    db, store = get_database(), artifact_store()
    with unit_of_work(db.sessions) as session:
        was_lost = queries.is_fetch_lost(session, run_id, debug_files.ID)
        planned = queries.claim_fetch(session, run_id, debug_files.ID)
        if planned is None:
            return None
        if was_lost:
            # A file that ended one worker is not read by the next.
            planned.state, planned.reason = "failed", {"key": "ingest.worker_died", "params": {"attempts": 1}}
            planned.ended_ns = time.time_ns()
            enqueue_builds(session, run_id)
            return planned.state
        plan = _build_plan(session, store, planned)
    stripped = _list_stripped(plan)
    with db.sessions() as session:
        stored = debuginfod_queries.load_answers(session, set(stripped.values()))
    search = DebugSearch(store, plan.sources, stored, SEARCH)
    result = search.search(list(dict.fromkeys(stripped.values())), get_settings().home / "work")
    _store_result(db, store, plan, stripped, result)
    readings = parse_stored_artifacts(db, store, run_id, plan.run_collector_id)
    with unit_of_work(db.sessions) as session:
        for reading in readings:
            add_readings(session, run_id, reading)
        enqueue_builds(session, run_id)
        return session.get_one(RunCollector, plan.run_collector_id).state


def _build_plan(session: Session, store: ArtifactStore, planned: RunCollector) -> DebugFetchPlan:
    plan = DebugFetchPlan(planned.id, load_sources(session))
    run = session.get_one(Run, planned.run_id)
    sources = [profile.source for profile in list_profiles(session, run.id) if profile.source]
    sources = [source for source in sources if source["reader"] == READER]
    if run.host_id is None:
        return plan
    keys = [key for source in sources for key in list_keys(source)]
    known = queries.load_symbol_files(session, run.host_id, keys)
    for key in list_programs(sources, known):
        artifact = known[key].artifact
        try:
            path = str(store.path(artifact.sha256))
        except (ArtifactMissingError, ArtifactAlteredError):
            continue
        part = {
            "sha256": artifact.sha256,
            "size": artifact.size,
            "encoding": artifact.encoding,
            "path": path,
        }
        plan.programs[key] = {"part": part, "blocks": known[key].blocks}
    return plan


def _list_stripped(plan: DebugFetchPlan) -> dict[str, str]:
    """Return the build IDs of the stripped programs by key, those with the most samples first."""
    inputs = [program["part"]["path"] for program in plan.programs.values()]
    with create_workspace(get_settings().home / "work") as directory:
        request = {"programs": plan.programs}
        ended = run_in_sandbox(parser.__name__, request, directory, LIMITS, inputs=inputs)
        if ended.verdict != "ok":
            return {}
        with open_output(directory / parser.RESULT) as stream:
            stripped = json.loads(stream.read(MAX_RESULT_BYTES))
    return {key: stripped[key] for key in plan.programs if key in stripped}


def _store_result(
    db: Database, store: ArtifactStore, plan: DebugFetchPlan, stripped: dict[str, str], result: SearchResult
) -> None:
    """Store the answers as parts of the run, and for later runs of all hosts."""
    with unit_of_work(db.sessions) as session:
        planned = session.get_one(RunCollector, plan.run_collector_id)
        planned.state = "failed" if result.failure else "done"
        planned.reason, planned.ended_ns = result.failure, time.time_ns()
        planned.bytes = result.kept_bytes
        planned.argv = " ".join([debug_files.METHOD, *(source.url for source in plan.sources)])
        answers = [_describe_answer(session, key, result.answers[stripped[key]]) for key in stripped]
        text = describe_answers(answers).encode("ascii")
        blob = store.put([text], len(text) + 1)
        index = ArtifactRef(None, blob.sha256, len(text), blob.size, "identity")
        _add_part(session, planned, debug_files.PUBLISHED, index, "text/plain; charset=utf-8")
        parts: dict[str, Artifact] = {}
        for answer in answers:
            artifact = result.answers[answer.build_id].artifact
            if answer.blocks and artifact is not None:
                part = name_blocks_part(name_debug_key(answer.key))
                parts[answer.build_id] = _add_part(session, planned, part, artifact)
        session.flush()
        debuginfod_queries.store_answers(session, _list_rows(result, parts))


def _describe_answer(session: Session, key: str, answer: BuildIdAnswer) -> DebugAnswer:
    artifact, server = answer.artifact, answer.source.url if answer.source else "-"
    if artifact is not None and artifact.id and not debuginfod_queries.is_artifact_kept(session, artifact.id):
        # Retention has deleted it since. The next run requests it again.
        return DebugAnswer(key, answer.build_id, "limit", server)
    return DebugAnswer(key, answer.build_id, answer.state, server, answer.blocks)


def _add_part(
    session: Session,
    planned: RunCollector,
    name: str,
    ref: ArtifactRef,
    media_type: str = "application/octet-stream",
) -> Artifact:
    artifact = Artifact(
        run_id=planned.run_id,
        run_collector_id=planned.id,
        part=name,
        media_type=media_type,
        sha256=ref.sha256,
        size=ref.size,
        stored_size=ref.stored_size,
        encoding=ref.encoding,
    )
    session.add(artifact)
    return artifact


def _list_rows(result: SearchResult, parts: Mapping[str, Artifact]) -> list[DebugFile]:
    """Return new answers without symbols, and all with symbols: they refer to the artifact of the newest run."""
    rows = [
        DebugFile(server_id=server_id, build_id=build_id, state=state, artifact_id=None, blocks=[])
        for (server_id, build_id), state in result.refusals.items()
    ]
    for build_id, artifact in parts.items():
        answer = result.answers[build_id]
        if answer.source is not None:
            blocks = [list(block) for block in answer.blocks]
            rows.append(
                DebugFile(
                    server_id=answer.source.server_id,
                    build_id=build_id,
                    state="file",
                    artifact_id=artifact.id,
                    blocks=blocks,
                )
            )
    return rows


JOB = Job(
    "culprit.fetch_debug_files",
    "parse",
    fetch_debug_files,
    lambda: queries.pending_symbol_fetches(debug_files.ID),
)
