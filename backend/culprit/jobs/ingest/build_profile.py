"""The job that builds a profile from a stored artifact."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import func, update
from sqlalchemy.orm import Session

from collectors.registry import COLLECTORS
from collectors.runner import symbols
from culprit.domain.profiles import debug_files
from culprit.evidence.parsing import parse_profile
from culprit.evidence.parsing.queries import list_latest_artifacts
from culprit.evidence.symbols.naming import explain_naming
from culprit.evidence.symbols.queries import load_debug_fetch, load_fetch
from culprit.evidence.symbols.requests import READER
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.store import ArtifactStore, artifact_store
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.sandbox import perf_data
from culprit.infra.sandbox.process import (
    SandboxExit,
    SandboxLimits,
    create_workspace,
    open_output,
    run_in_sandbox,
)
from culprit.infra.settings import get_settings
from culprit.infra.task_queue import enqueue_after_commit
from culprit.jobs.ingest import locks as build_claims
from culprit.jobs.ingest.queries import (
    find_event_profile,
    find_run_collector,
    load_control_groups,
    pending_builds,
)
from culprit.jobs.job import Job
from culprit.json_types import Json

MODULE = parse_profile.__name__
LIMITS = SandboxLimits(address_space=6 << 30, cpu_s=600, file_bytes=4 << 30, wall_s=600)
MAX_RESULT_BYTES = 1 << 20
MAX_PROCESSES = 20_000


class ProfileBuildError(Exception):
    """The profile cannot be built; `sentence` is the message."""

    def __init__(self, key: str, **params: str | int) -> None:
        super().__init__(key)
        self.sentence: Json = {"key": key, "params": params}


def build_profile(profile_id: UUID) -> str | None:
    """Build one profile. Return its state, or None if there was nothing to do."""
    db, store = get_database(), artifact_store()
    with unit_of_work(db.sessions) as session:
        attempt = build_claims.claim_build(session, Profile, profile_id)
    if attempt is None:
        return None
    try:
        with unit_of_work(db.sessions) as session:
            order = build_request(session, store, profile_id)
        with create_workspace(get_settings().home / "work") as directory:
            result = read_profiles(order, directory, LIMITS)
            stored = [_store_files(store, directory, item) for item in result["profiles"]]
    except ProfileBuildError as failed:
        with unit_of_work(db.sessions) as session:
            build_claims.finish_build(
                session, Profile, profile_id, attempt, state="failed", failure=failed.sentence
            )
            enqueue_after_commit(session, "culprit.evaluate_run", session.get_one(Profile, profile_id).run_id)
        return "failed"
    with unit_of_work(db.sessions) as session:
        if result.get("modules"):
            keys = {name.removesuffix(".blocks") for name in order["symbols"] or {}}
            run_id = session.get_one(Profile, profile_id).run_id
            fetches = load_fetch(session, run_id), load_debug_fetch(session, run_id)
            naming = explain_naming(result["modules"], keys, *fetches)
        else:
            naming = None
        return _store_profiles(session, profile_id, attempt, stored, naming)


def build_request(session: Session, store: ArtifactStore, profile_id: UUID) -> Json:
    """Return the request for the sandboxed child."""
    profile = session.get_one(Profile, profile_id)
    run = session.get_one(Run, profile.run_id)
    source = profile.source or {}
    artifact_id = (source.get("artifacts") or {}).get(source.get("part"))
    artifact = session.get(Artifact, UUID(artifact_id)) if artifact_id else None
    if artifact is None:
        raise ProfileBuildError("artifact.not_there", part=str(source.get("part")))
    return {
        "reader": source["reader"],
        "kind": source.get("kind", profile.kind),
        "unit": source["unit"],
        "pids": source.get("pids", []),
        "cgroups": [[pid, path] for pid, path in load_control_groups(session, run.id, MAX_PROCESSES).items()],
        "clock_kind": source.get("clock"),
        "clock": run.clock,
        "part": _describe_part(store, artifact),
        "symbols": _describe_symbols(session, store, profile) if source["reader"] == READER else None,
    }


def _describe_part(store: ArtifactStore, artifact: Artifact) -> Json:
    """Describe a part for the child. Raises ProfileBuildError if its bytes are not in the store."""
    try:
        path = store.path(artifact.sha256)
    except (ArtifactMissingError, ArtifactAlteredError) as error:
        key = "artifact.missing" if isinstance(error, ArtifactMissingError) else "artifact.altered"
        raise ProfileBuildError(key, sha256=artifact.sha256) from error
    return {
        "sha256": artifact.sha256,
        "size": artifact.size,
        "encoding": artifact.encoding,
        "path": str(path),
    }


def _describe_symbols(session: Session, store: ArtifactStore, profile: Profile) -> Json:
    """Describe the symbol parts of a profile. All of them belong to its run, so that the run can be exported."""
    collectors = [find_run_collector(session, profile.run_id, name) for name in (symbols.ID, debug_files.ID)]
    parts = {
        part.part: part for item in collectors if item for part in list_latest_artifacts(session, item.id)
    }
    own = ((profile.source or {}).get("artifacts") or {}).get(symbols.KALLSYMS)
    if own and (artifact := session.get(Artifact, UUID(own))) is not None:
        parts[symbols.KALLSYMS] = artifact
    return {name: _describe_part(store, part) for name, part in parts.items() if part.removed_at is None}


def list_inputs(order: Mapping[str, Any]) -> list[str]:
    """Return the paths of all parts that the child reads."""
    return [part["path"] for part in (order["part"], *(order["symbols"] or {}).values())]


def read_profiles(order: Mapping[str, Any], directory: Path, limits: SandboxLimits) -> Json:
    """Read the artifact in the sandboxed child. Raises ProfileBuildError."""
    ended = run_in_sandbox(
        MODULE, order, directory, limits, inputs=list_inputs(order), programs=perf_data.list_programs()
    )
    if ended.verdict != "ok":
        raise describe_exit(ended, limits)
    with open_output(directory / "result.json") as stream:
        result: Json = json.loads(stream.read(MAX_RESULT_BYTES))
    if "failure" in result:
        raise ProfileBuildError(result["failure"]["key"], **result["failure"]["params"])
    if not result["profiles"]:
        raise ProfileBuildError("import.no_samples")
    return result


def describe_exit(ended: SandboxExit, limits: SandboxLimits) -> ProfileBuildError:
    match ended.verdict:
        case "out_of_memory":
            return ProfileBuildError("ingest.out_of_memory", attempts=1, limit_mb=limits.address_space >> 20)
        case "too_slow":
            return ProfileBuildError("ingest.too_slow", attempts=1, limit_s=int(limits.wall_s))
        case "too_large":
            return ProfileBuildError("ingest.too_large", attempts=1, limit_mb=limits.file_bytes >> 20)
        case _:
            return ProfileBuildError(
                "ingest.crashed", attempts=1, error=ended.stderr.strip().rpartition("\n")[2][:300]
            )


def _store_files(store: ArtifactStore, directory: Path, item: Json) -> Json:
    """Move the files of one profile into the store."""
    place = int(item["place"])
    keys: Json = {"tree_key": None, "stored_size": 0}
    files = [("store_key", "samples"), *([("tree_key", "tree")] if item["tree"] else [])]
    for column, suffix in files:
        path = directory / f"{place}.{suffix}"
        with open_output(path) as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        stored = store.adopt(path, digest)
        keys[column] = stored.sha256
        keys["stored_size"] += stored.size
    return {**item, **keys}


_COLUMNS = (
    "kind", "event", "unit", "samples", "weight", "lost", "unknown_share", "truncated_share", "t0_ns", "t1_ns",
    "store_key", "tree_key", "stored_size",
)  # fmt: skip


def _store_profiles(
    session: Session, profile_id: UUID, attempt: int, stored: list[Json], naming: Json | None
) -> str | None:
    """Store the heaviest event as the profile itself, and each further event as an additional profile."""
    profile = session.get_one(Profile, profile_id)
    collector = session.get(RunCollector, profile.run_collector_id) if profile.run_collector_id else None
    known = COLLECTORS.get(collector.collector) if collector else None
    common = {
        "state": "ready",
        "failure": None,
        "naming": naming,
        "method": collector.method if collector else None,
        "parser_version": known.parser_version if known else 1,
    }
    ordered = str((profile.source or {}).get("kind", profile.kind))
    first, *others = [{**item, "kind": item["kind"] or ordered} for item in stored]
    values = {name: first[name] for name in _COLUMNS} | common
    if not build_claims.finish_build(session, Profile, profile_id, attempt, **values):
        return None
    session.expire(profile)
    for other in others:
        _store_event_profile(session, profile, {name: other[name] for name in _COLUMNS} | common)
    _extend_run_times(session, profile.run_id, stored)
    enqueue_after_commit(session, "culprit.evaluate_run", profile.run_id)
    return "ready"


def _store_event_profile(session: Session, profile: Profile, values: Json) -> None:
    """Store the profile of a further event of the same recording. A rebuild updates the existing row."""
    sibling = find_event_profile(session, profile, values["kind"], values["event"])
    if sibling is None:
        sibling = Profile(run_id=profile.run_id, run_collector_id=profile.run_collector_id)
        session.add(sibling)
    sibling.host_id, sibling.source = profile.host_id, profile.source
    for name, value in values.items():
        setattr(sibling, name, value)


def _extend_run_times(session: Session, run_id: UUID, stored: list[Json]) -> None:
    """Extend the time range of the run to its samples: an imported profile has no other times."""
    starts = [item["t0_ns"] for item in stored if item["t0_ns"] is not None]
    ends = [item["t1_ns"] for item in stored if item["t1_ns"] is not None]
    if starts and ends:
        session.execute(
            update(Run)
            .where(Run.id == run_id)
            .values(t0_ns=func.least(Run.t0_ns, min(starts)), t1_ns=func.greatest(Run.t1_ns, max(ends)))
            .execution_options(synchronize_session=False)
        )


JOB = Job("culprit.build_profile", "parse", build_profile, lambda: pending_builds(Profile))
