"""The job that fetches the code of one function from the host of its profile.

It runs in a short session of its own, with the permissions of the user who requested it. What it fetches are parts of
the collector `symbols` of the run, so that the next look at the function needs no session.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from collectors.runner import code_bytes, symbols
from culprit.evidence.disassembly import queries
from culprit.evidence.symbols.requests import build_file_request
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.evidence.function_disassembly import FunctionDisassembly
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.settings import get_settings
from culprit.infra.task_queue import enqueue_after_commit
from culprit.jobs.capture.fetch_symbols import run_fetch_session
from culprit.jobs.capture.session_result import SessionResult, build_artifact, store_artifacts
from culprit.jobs.capture.session_spec import RunRefusedError, SessionSpec, build_fetch_spec
from culprit.jobs.capture.session_supervisor import ChildDiedError, LeaseLostError
from culprit.jobs.capture.spool import Spool
from culprit.jobs.capture.ssh_pool import get_ssh_pool
from culprit.jobs.ingest.queries import find_run_collector
from culprit.jobs.job import Job
from culprit.json_types import Json


def fetch_code(disassembly_id: UUID) -> str | None:
    """Fetch the code of a function. Return the state of the fetch, or None if there was nothing to do."""
    db = get_database()
    with unit_of_work(db.sessions) as session:
        if not queries.claim_fetch(session, disassembly_id):
            return None
        try:
            spec, collector_id = _build_spec(session, disassembly_id)
        except RunRefusedError as refused:
            return _finish(session, disassembly_id, refused.sentence)
    pool = get_ssh_pool()
    pool.start()
    spool = Spool.create(get_settings().home, disassembly_id, 0)
    try:
        result = run_fetch_session(pool, spec, disassembly_id, spool)
        store_artifacts(artifact_store(), result)
    except (LeaseLostError, ChildDiedError):
        # The worker stops, or its child died: another worker fetches the code.
        with unit_of_work(db.sessions) as session:
            queries.finish_fetch(session, disassembly_id, "queued")
        return None
    finally:
        spool.discard()
    with unit_of_work(db.sessions) as session:
        return _store_code(session, disassembly_id, collector_id, spec, result)


def _build_spec(session: Session, disassembly_id: UUID) -> tuple[SessionSpec, UUID]:
    """Return the session with the permissions of the requester, and the collector of its parts."""
    row = session.get_one(FunctionDisassembly, disassembly_id)
    profile = session.get_one(Profile, row.profile_id)
    collector = find_run_collector(session, profile.run_id, symbols.ID)
    modules = {module["key"]: module for module in (profile.source or {}).get("modules", ())}
    requests = []
    for item in (row.result or {}).get("plan", ()):
        if item["key"] in modules:
            file = build_file_request(modules[item["key"]])
        elif item["build_id"]:
            file = code_bytes.name_debug_file(item["key"].removesuffix("-debug"), item["build_id"])
        else:
            continue
        runs = [(int(first), int(count)) for first, count in item["runs"]]
        requests.append(code_bytes.CodeRequest(item["name"], file, runs))
    if collector is None or not requests:
        raise RunRefusedError({"key": "disassembly.no_file", "params": {}})
    try:
        job = code_bytes.build_job(requests)
    except ValueError as error:
        raise RunRefusedError({"key": "disassembly.too_large", "params": {}}) from error
    return build_fetch_spec(session, profile.run_id, row.fetched_by, (job,)), collector.id


def _store_code(
    session: Session, disassembly_id: UUID, collector_id: UUID, spec: SessionSpec, result: SessionResult
) -> str:
    """Store the fetched parts, and build the function again; without its code, state why."""
    outcome = result.output.outcomes.get(symbols.ID)
    if outcome is None or outcome["state"] != "done":
        failure = result.failure.message if result.failure else None
        reason = outcome["reason"] if outcome else None
        return _finish(
            session, disassembly_id, reason or failure or {"key": "run.cut_before_outcome", "params": {}}
        )
    plan = session.get_one(FunctionDisassembly, disassembly_id).result or {}
    names = [code_bytes.name_code_part(item["name"]) for item in plan.get("plan", ())]
    parts = [part for part in result.output.parts if part["id"] == symbols.ID and part["part"] in names]
    if names[0] not in {part["part"] for part in parts}:
        return _finish(session, disassembly_id, {"key": "disassembly.gone", "params": {}})
    for part in parts:
        session.add(build_artifact(part, spec.run_id, collector_id, attempt=1))
    return _finish(session, disassembly_id, None)


def _finish(session: Session, disassembly_id: UUID, failure: Json | None) -> str:
    state = "failed" if failure else "done"
    queries.finish_fetch(session, disassembly_id, state, failure)
    if state == "done":
        enqueue_after_commit(session, "culprit.build_disassembly", disassembly_id)
    return state


JOB = Job("culprit.fetch_code", "ssh", fetch_code, queries.pending_code_fetches)
