"""The job that fetches the symbols of a run's profiles from its host.

It runs after the run, with the permissions of the user who requested the run, as its collector `symbols`. Debuginfod
servers that an admin allowed are requested for what the host did not have. The profiles are built afterwards, even if
all of this fails: a function without a symbol is displayed as its module and offset, with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.runner import program as bundle
from collectors.runner import symbols
from culprit.domain.runs.timeouts import Timeouts
from culprit.evidence.parsing.parse_run import ParsedCollector
from culprit.evidence.symbols import queries as symbol_queries
from culprit.evidence.symbols.requests import READER, list_generated, list_keys, list_missing_files
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.symbol_file import SymbolFile
from culprit.infra.sandbox.fork_server import HangupError, Message
from culprit.infra.settings import get_settings
from culprit.jobs.capture.session_result import (
    SessionFailure,
    SessionResult,
    build_artifact,
    store_artifacts,
    update_collector,
)
from culprit.jobs.capture.session_spec import RunRefusedError, SessionSpec, build_session_spec, pack_session
from culprit.jobs.capture.session_supervisor import (
    ChildDiedError,
    LeaseLostError,
    SupervisorOptions,
    compute_first_connect_s,
    supervise_session,
)
from culprit.jobs.capture.spool import Spool
from culprit.jobs.capture.ssh_pool import SESSION, SshPool, get_ssh_pool
from culprit.jobs.ingest.fetched_artifacts import parse_stored_artifacts
from culprit.jobs.ingest.plan_symbols import enqueue_builds, plan_debug_files
from culprit.jobs.ingest.queries import list_profiles
from culprit.jobs.ingest.store_run import add_readings
from culprit.jobs.job import Job
from culprit.json_types import Json

FRAME_OVERHEAD = 1 << 20


@dataclass(frozen=True, slots=True, repr=False)
class FetchSpec:
    """The session that fetches the symbols, and its collector row. It holds secrets and has no repr."""

    run_collector_id: UUID
    session: SessionSpec


def fetch_symbols(run_id: UUID) -> str | None:
    """Fetch the missing symbols of a run. Return the state of the collector, or None if there was nothing to do."""
    db = get_database()
    with unit_of_work(db.sessions) as session:
        planned = symbol_queries.claim_fetch(session, run_id, symbols.ID)
        if planned is None:
            return None
        try:
            spec = _build_spec(session, planned)
        except RunRefusedError as refused:
            return _fail_fetch(session, planned, refused.sentence)
    pool = get_ssh_pool()
    pool.start()
    spool = Spool.create(get_settings().home, spec.run_collector_id, 0)
    try:
        result = run_fetch_session(pool, spec.session, spec.run_collector_id, spool)
        store_artifacts(artifact_store(), result)
        return _store_symbols(spec, result)
    except (LeaseLostError, ChildDiedError):
        # The worker stops, or its child died: another worker fetches the symbols.
        with unit_of_work(db.sessions) as session:
            session.get_one(RunCollector, spec.run_collector_id).state = "queued"
        return None
    finally:
        spool.discard()


def _build_spec(session: Session, planned: RunCollector) -> FetchSpec:
    """Build the session as for the run itself, with its checks. Raises RunRefusedError."""
    spec = build_session_spec(session, planned.run_id)
    sources = [profile.source for profile in list_profiles(session, planned.run_id) if profile.source]
    sources = [source for source in sources if source["reader"] == READER]
    keys = [key for source in sources for key in list_keys(source)]
    known = symbol_queries.load_symbol_files(session, spec.host_id, keys)
    job = symbols.build_job(list_missing_files(sources, known), list_generated(sources))
    return FetchSpec(
        planned.id,
        replace(
            spec,
            jobs=(job,),
            host_deadline_s=float(bundle.compute_deadline_s([job])),
            max_bytes=job.max_bytes,
        ),
    )


def run_fetch_session(pool: SshPool, session: SessionSpec, fetch_id: UUID, spool: Spool) -> SessionResult:
    """Run the jobs of a session that fetches files, and return what the host sent.

    Raises LeaseLostError if the worker stops, and ChildDiedError.
    """
    connect_s = compute_first_connect_s(session.last_timings, session.max_silence_s)

    def start(limits: Timeouts) -> Message:
        bounds = bundle.RunnerLimits(
            run=str(fetch_id),
            silence_s=round(limits.runner_silence_s),
            deadline_s=round(limits.deadline_s),
            lease=symbols.ID,
        )
        program = bundle.build_program(list(session.jobs), bounds)
        return {
            "command": bundle.build_command(program, sudo=session.sudo),
            "first_line": session.sudo_password,
            "stdout_bytes": session.max_bytes + FRAME_OVERHEAD,
            "collectors": {job.id: job.max_bytes for job in session.jobs},
        }

    options = SupervisorOptions(
        max_silence_s=session.max_silence_s,
        connect_s=connect_s,
        host_deadline_s=session.host_deadline_s,
        start=start,
        renew=lambda _result, _progress: True,
        is_canceled=lambda: False,
        is_stopping=pool.stopping.is_set,
    )
    try:
        with pool.server.child(SESSION, pack_session(session, spool, connect_s)) as child:
            return supervise_session(child, options)
    except HangupError as error:
        raise ChildDiedError from error


def _store_symbols(spec: FetchSpec, result: SessionResult) -> str:
    """Store the fetched artifacts, their parsed index table, and the symbol files. Return the collector's state."""
    db, run_id = get_database(), spec.session.run_id
    outcome = result.output.outcomes.get(symbols.ID)
    with unit_of_work(db.sessions) as session:
        planned = session.get_one(RunCollector, spec.run_collector_id)
        if outcome is None:
            failure = result.failure or SessionFailure("run.cut_before_outcome", {})
            return _fail_fetch(session, planned, failure.message)
        for part in result.output.parts:
            if part["id"] == symbols.ID:
                session.add(build_artifact(part, run_id, planned.id, attempt=1))
        started_ns = planned.started_ns
        update_collector(planned, outcome, result)
        planned.started_ns, planned.ended_ns = started_ns, time.time_ns()
    readings = parse_stored_artifacts(db, artifact_store(), run_id, spec.run_collector_id)
    with unit_of_work(db.sessions) as session:
        for reading in readings:
            add_readings(session, run_id, reading)
            symbol_queries.store_symbol_files(session, spec.session.host_id, _list_files(reading))
        _continue_naming(session, run_id, spec.session.host_id)
        return session.get_one(RunCollector, spec.run_collector_id).state


def _list_files(reading: ParsedCollector) -> Iterator[SymbolFile]:
    tables = reading.parsed["tables"] if reading.failure is None else []
    for key, state, _build_id, blocks, part in (row for table in tables for row in table["rows"]):
        if state == "file":
            runs = [[int(number) for number in text.split("+")] for text in blocks.split()]
            yield SymbolFile(key=key, artifact_id=reading.artifacts[part], blocks=runs)


def _fail_fetch(session: Session, planned: RunCollector, reason: Json) -> str:
    planned.state, planned.reason, planned.ended_ns = "failed", reason, time.time_ns()
    session.flush()
    host_id = session.get_one(Run, planned.run_id).host_id
    assert host_id is not None
    _continue_naming(session, planned.run_id, host_id)
    return "failed"


def _continue_naming(session: Session, run_id: UUID, host_id: UUID) -> None:
    """Request what the host did not have from debuginfod servers, or build the profiles."""
    if not plan_debug_files(session, run_id, host_id):
        enqueue_builds(session, run_id)


JOB = Job(
    "culprit.fetch_symbols",
    "ssh",
    fetch_symbols,
    lambda: symbol_queries.pending_symbol_fetches(symbols.ID),
)
