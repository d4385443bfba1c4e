"""From a stored part to a profile that can be drawn: the task `culprit.build_profile`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from collectors.registry import COLLECTORS
from culprit.config import settings
from culprit.imports import perf_file
from culprit.infra.artifacts import ArtifactAltered, ArtifactMissing, ArtifactStore, artifact_store
from culprit.infra.bounded import Ended, Limits, open_output, run_confined, workspace
from culprit.infra.broker import announce
from culprit.infra.db import database
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Artifact, Profile, Run, RunCollector
from culprit.workflows import builds, confined_profile

MODULE = confined_profile.__name__
LIMITS = Limits(address_space=6 << 30, cpu_s=600, file_bytes=4 << 30, wall_s=600)
MAX_RESULT_BYTES = 1 << 20
Json = dict[str, Any]


class Failed(Exception):
    """The profile cannot be built; `sentence` says why."""

    def __init__(self, key: str, **params: str | int) -> None:
        super().__init__(key)
        self.sentence: Json = {"key": key, "params": params}


def build_profile(profile_id: UUID) -> str | None:
    """Build one profile. Returns its state, None where there was nothing to do."""
    db, store = database(), artifact_store()
    with unit_of_work(db.sessions) as session:
        attempt = builds.claim(session, Profile, profile_id)
    if attempt is None:
        return None
    try:
        with unit_of_work(db.sessions) as session:
            order = _order(session, store, profile_id)
        with workspace(settings().home / "work") as directory:
            found = read(order, directory, LIMITS)
            stored = [_adopt(store, directory, one) for one in found]
    except Failed as failed:
        with unit_of_work(db.sessions) as session:
            builds.finish(session, Profile, profile_id, attempt, state="failed", failure=failed.sentence)
            announce(session, "culprit.evaluate_run", session.get_one(Profile, profile_id).run_id)
        return "failed"
    with unit_of_work(db.sessions) as session:
        return _store(session, profile_id, attempt, stored)


def _order(session: Session, store: ArtifactStore, profile_id: UUID) -> Json:
    """What the child is asked."""
    profile = session.get_one(Profile, profile_id)
    run = session.get_one(Run, profile.run_id)
    source = profile.source or {}
    artifact_id = (source.get("artifacts") or {}).get(source.get("part"))
    artifact = session.get(Artifact, UUID(artifact_id)) if artifact_id else None
    if artifact is None:
        raise Failed("artifact.not_there", part=str(source.get("part")))
    try:
        path = store.path(artifact.sha256)
    except (ArtifactMissing, ArtifactAltered) as error:
        key = "artifact.missing" if isinstance(error, ArtifactMissing) else "artifact.altered"
        raise Failed(key, sha256=artifact.sha256) from error
    return {
        "reader": source["reader"],
        "unit": source["unit"],
        "clock_kind": source.get("clock"),
        "clock": run.clock,
        "part": {
            "sha256": artifact.sha256,
            "size": artifact.size,
            "encoding": artifact.encoding,
            "path": str(path),
        },
    }


def read(order: Mapping[str, Any], directory: Path, limits: Limits) -> list[Json]:
    """Have the child read; raises Failed."""
    ended = run_confined(
        MODULE, order, directory, limits, inputs=[order["part"]["path"]], programs=perf_file.list_programs()
    )
    if ended.verdict != "ok":
        raise _died(ended, limits)
    with open_output(directory / "result.json") as stream:
        result: Json = json.loads(stream.read(MAX_RESULT_BYTES))
    if "failure" in result:
        raise Failed(result["failure"]["key"], **result["failure"]["params"])
    if not result["profiles"]:
        raise Failed("import.no_samples")
    profiles: list[Json] = result["profiles"]
    return profiles


def _died(ended: Ended, limits: Limits) -> Failed:
    match ended.verdict:
        case "out_of_memory":
            return Failed("ingest.out_of_memory", attempts=1, limit_mb=limits.address_space >> 20)
        case "too_slow":
            return Failed("ingest.too_slow", attempts=1, limit_s=int(limits.wall_s))
        case "too_large":
            return Failed("ingest.too_large", attempts=1, limit_mb=limits.file_bytes >> 20)
        case _:
            return Failed("ingest.crashed", attempts=1, said=ended.stderr.strip().rpartition("\n")[2][:300])


def _adopt(store: ArtifactStore, directory: Path, one: Json) -> Json:
    """Moves the files of one profile into the store."""
    place = int(one["place"])
    keys: Json = {"tree_key": None, "stored_size": 0}
    files = [("store_key", "samples"), *([("tree_key", "tree")] if one["tree"] else [])]
    for column, suffix in files:
        path = directory / f"{place}.{suffix}"
        with open_output(path) as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        stored = store.adopt(path, digest)
        keys[column] = stored.sha256
        keys["stored_size"] += stored.size
    return {**one, **keys}


_COLUMNS = (
    "event", "unit", "samples", "weight", "lost", "unknown_share", "truncated_share", "t0_ns", "t1_ns",
    "store_key", "tree_key", "stored_size",
)  # fmt: skip


def _store(session: Session, profile_id: UUID, attempt: int, stored: list[Json]) -> str | None:
    """The heaviest event is the profile itself; each further one becomes a profile beside it."""
    profile = session.get_one(Profile, profile_id)
    collector = session.get(RunCollector, profile.run_collector_id) if profile.run_collector_id else None
    known = COLLECTORS.get(collector.collector) if collector else None
    common = {
        "state": "ready",
        "failure": None,
        "way": collector.way if collector else None,
        "parser_version": known.parser_version if known else 1,
    }
    first, *others = stored
    values = {name: first[name] for name in _COLUMNS} | common
    if not builds.finish(session, Profile, profile_id, attempt, **values):
        return None
    session.expire(profile)
    for one in others:
        _beside(session, profile, {name: one[name] for name in _COLUMNS} | common)
    _widen(session, profile.run_id, stored)
    announce(session, "culprit.evaluate_run", profile.run_id)
    return "ready"


def _beside(session: Session, profile: Profile, values: Json) -> None:
    """The profile of a further event of the same recording; found again when it is built again."""
    found = session.scalars(
        select(Profile).where(
            Profile.run_id == profile.run_id,
            Profile.run_collector_id == profile.run_collector_id,
            Profile.kind == profile.kind,
            Profile.event == values["event"],
            Profile.id != profile.id,
        )
    ).first()
    if found is None:
        found = Profile(run_id=profile.run_id, run_collector_id=profile.run_collector_id)
        session.add(found)
    found.host_id, found.kind, found.source = profile.host_id, profile.kind, profile.source
    for name, value in values.items():
        setattr(found, name, value)


def _widen(session: Session, run_id: UUID, stored: list[Json]) -> None:
    """A run spans its samples too: an imported profile has nothing else."""
    starts = [one["t0_ns"] for one in stored if one["t0_ns"] is not None]
    ends = [one["t1_ns"] for one in stored if one["t1_ns"] is not None]
    if starts and ends:
        session.execute(
            update(Run)
            .where(Run.id == run_id)
            .values(t0_ns=func.least(Run.t0_ns, min(starts)), t1_ns=func.greatest(Run.t1_ns, max(ends)))
            .execution_options(synchronize_session=False)
        )
