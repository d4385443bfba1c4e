"""The job that counts the samples of a function by address, and prints its instructions."""

from __future__ import annotations

import json
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.evidence.parsing import disassemble
from culprit.infra.artifacts.store import ArtifactStore, artifact_store
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.evidence.function_disassembly import FunctionDisassembly
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.sandbox.process import create_workspace, open_output, run_in_sandbox
from culprit.infra.settings import get_settings
from culprit.jobs.ingest import locks as build_claims
from culprit.jobs.ingest.build_profile import (
    LIMITS,
    ProfileBuildError,
    build_request,
    describe_exit,
    list_inputs,
)
from culprit.jobs.ingest.queries import pending_builds
from culprit.jobs.job import Job
from culprit.json_types import Json

MODULE = disassemble.__name__
MAX_RESULT_BYTES = 16 << 20


def build_disassembly(disassembly_id: UUID) -> str | None:
    """Build one disassembly. Return its state, or None if there was nothing to do."""
    db, store = get_database(), artifact_store()
    with unit_of_work(db.sessions) as session:
        attempt = build_claims.claim_build(session, FunctionDisassembly, disassembly_id)
    if attempt is None:
        return None
    values: Json
    try:
        with unit_of_work(db.sessions) as session:
            request = _build_request(session, store, disassembly_id)
        values = {"state": "ready", "failure": None, "result": _read_function(request)}
    except ProfileBuildError as failed:
        values = {"state": "failed", "failure": failed.sentence}
    with unit_of_work(db.sessions) as session:
        is_kept = build_claims.finish_build(session, FunctionDisassembly, disassembly_id, attempt, **values)
        return values["state"] if is_kept else None


def _build_request(session: Session, store: ArtifactStore, disassembly_id: UUID) -> Json:
    """Return the request for the sandboxed child: that of the profile, and the function."""
    row = session.get_one(FunctionDisassembly, disassembly_id)
    profile = session.get_one(Profile, row.profile_id)
    function = {"event": profile.event, "function": row.function, "module": row.module or None}
    return {**build_request(session, store, profile.id), **function}


def _read_function(request: Json) -> Json:
    with create_workspace(get_settings().home / "work") as directory:
        ended = run_in_sandbox(MODULE, request, directory, LIMITS, inputs=list_inputs(request))
        if ended.verdict != "ok":
            raise describe_exit(ended, LIMITS)
        with open_output(directory / "result.json") as stream:
            result: Json = json.loads(stream.read(MAX_RESULT_BYTES))
    if "failure" in result:
        raise ProfileBuildError(result["failure"]["key"], **result["failure"]["params"])
    return result


JOB = Job(
    "culprit.build_disassembly", "parse", build_disassembly, lambda: pending_builds(FunctionDisassembly)
)
